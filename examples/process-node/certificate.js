// A certificate for one process: Node has keys and signatures, but nothing that makes certificates.
'use strict';

const crypto = require('node:crypto');

// der encodes one element of ASN.1.
function der(tag, ...parts) {
  const body = Buffer.concat(parts);
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = [];
  for (let n = body.length; n > 0; n >>= 8) length.unshift(n & 255);
  return Buffer.concat([Buffer.from([tag, 128 | length.length, ...length]), body]);
}

const sequence = (...parts) => der(0x30, ...parts);
const oid = (hex) => der(0x06, Buffer.from(hex, 'hex'));
const time = (date) => der(0x17, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, '').slice(2))); // YYMMDDhhmmssZ

// selfSigned returns a new key and a certificate for "localhost" that it signed itself, good for a day.
function selfSigned() {
  const { privateKey, publicKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid('2a8648ce3d040302')); // ECDSA with SHA-256
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from('localhost')))));
  const hosts = sequence(der(0x82, Buffer.from('localhost')));
  const serial = crypto.randomBytes(16);
  serial[0] = (serial[0] & 0x7f) | 0x40; // positive, in the shortest form
  const hour = 3600_000;
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, serial),
    algorithm,
    name,
    sequence(time(new Date(Date.now() - hour)), time(new Date(Date.now() + 24 * hour))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid('551d11'), der(0x04, hosts)))), // the names it is good for
  );
  const signature = crypto.sign('sha256', content, privateKey);
  const certificate = sequence(content, algorithm, der(0x03, Buffer.from([0]), signature));
  const pem = certificate.toString('base64').match(/.{1,64}/g).join('\n');
  return {
    der: certificate,
    pem: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

module.exports = { selfSigned };
