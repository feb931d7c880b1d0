// A guest in C: it sets the field /args/marked of a tool's arguments to the length of the field /args/command, when there is one.
//
//     clang --target=wasm32-wasi --sysroot=/usr -O2 -nostdlib -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 \
//         -o mark.wasm mark.c -lc
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define IMPORT(name) __attribute__((import_module("tenon_v1"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("input") void host_input(void *ptr);
IMPORT("output") void host_output(const void *ptr, uint32_t len);

static char *buffer;
static size_t size;

EXPORT("tenon_abi") int32_t tenon_abi(void) { return 1 << 16; }

// command returns where the value of "command" begins, or NULL.
static const char *command(const char *text) {
	const char *at = strstr(text, "\"command\"");
	return at ? strchr(at + 9, '"') : NULL;
}

// length counts the bytes of the JSON string at text, as they are written.
static size_t length(const char *text) {
	size_t n = 0;
	for (text++; text[n] && text[n] != '"'; n++)
		if (text[n] == '\\' && text[n + 1])
			n++;
	return n;
}

// decimal writes n and returns how many digits it has.
static size_t decimal(char *to, size_t n) {
	char digits[20];
	size_t count = 0;
	do
		digits[count++] = '0' + n % 10;
	while (n /= 10);
	for (size_t i = 0; i < count; i++)
		to[i] = digits[count - 1 - i];
	return count;
}

EXPORT("tenon_call") int32_t tenon_call(uint32_t op, uint32_t len) {
	if (op < 0x1000)
		return 2;
	if (len + 1 > size) {
		free(buffer);
		size = len + 1;
		buffer = malloc(size);
	}
	if (!buffer) {
		size = 0;
		host_output("out of memory", 13);
		return 1;
	}
	host_input(buffer);
	buffer[len] = 0;
	const char *value = command(buffer);
	if (!value)
		return 2;
	static const char head[] = "{\"changes\":[{\"pointer\":\"/args/marked\",\"value\":", tail[] = "}]}";
	char answer[128];
	memcpy(answer, head, sizeof head - 1);
	size_t at = sizeof head - 1 + decimal(answer + sizeof head - 1, length(value));
	memcpy(answer + at, tail, sizeof tail - 1);
	host_output(answer, at + sizeof tail - 1);
	return 0;
}
