import { plugin } from "../../../sdk/node/tenon.mjs";

plugin({
  name: "guest-plain",
  hooks: [{ point: "chat.params", name: "warm", reads: [""], writes: [""], run: (input, value) => void (value.temperature += 0.5) }],
});
