/*
 * The addon for Node.js: for each translated module an object with the functions that the WebAssembly module would export, and with its memory. Addresses
 * and results are numbers. Every thread that loads the addon gets memory of its own.
 */
#include <node_api.h>
#include <stdlib.h>
#include "words.h"
#include "modules.h"

#define MAX_ARGUMENTS 5

typedef uint32_t (*exported)(uint8_t *M, const uint32_t *arguments);
typedef struct {
  const char *name;
  exported call;
} function;
typedef struct {
  const char *name;
  void (*initialise)(uint8_t *M);
  const function *functions;
  size_t count;
} module;

#include "exports.h"

#define CHECK(call) \
  if ((call) != napi_ok) return NULL

typedef struct {
  exported call;
  uint8_t *M;
} bound;

static napi_value run(napi_env env, napi_callback_info info) {
  napi_value arguments[MAX_ARGUMENTS], result;
  size_t count = MAX_ARGUMENTS;
  void *data;
  uint32_t numbers[MAX_ARGUMENTS] = {0};
  CHECK(napi_get_cb_info(env, info, &count, arguments, NULL, &data));
  for (size_t i = 0; i < count && i < MAX_ARGUMENTS; i++) CHECK(napi_get_value_uint32(env, arguments[i], &numbers[i]));
  const bound *b = data;
  CHECK(napi_create_int32(env, (int32_t)b->call(b->M, numbers), &result));
  return result;
}

static void free_bound(napi_env env, void *data, void *hint) { free(data); }

/* The environment refers to the buffer for as long as it lives: functions and their memory never part. */
static napi_value instantiate(napi_env env, const module *m) {
  napi_value object, memory, buffer, size;
  napi_ref reference;
  uint8_t *M;
  CHECK(napi_create_object(env, &object));
  CHECK(napi_create_object(env, &memory));
  CHECK(napi_create_arraybuffer(env, BLOCK, (void **)&M, &buffer));
  CHECK(napi_create_reference(env, buffer, 1, &reference));
  m->initialise(M);
  CHECK(napi_set_named_property(env, memory, "buffer", buffer));
  CHECK(napi_set_named_property(env, object, "memory", memory));
  CHECK(napi_create_uint32(env, SIZE, &size));
  CHECK(napi_set_named_property(env, object, "size", size));
  for (size_t i = 0; i < m->count; i++) {
    napi_value value;
    bound *b = malloc(sizeof *b);
    if (b == NULL) return NULL;
    *b = (bound){m->functions[i].call, M};
    CHECK(napi_create_function(env, m->functions[i].name, NAPI_AUTO_LENGTH, run, b, &value));
    CHECK(napi_add_finalizer(env, value, b, free_bound, NULL, NULL));
    CHECK(napi_set_named_property(env, object, m->functions[i].name, value));
  }
  return object;
}

NAPI_MODULE_INIT() {
  detect_processor();
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
    napi_value object = instantiate(env, &modules[i]);
    if (object == NULL) return NULL;
    CHECK(napi_set_named_property(env, exports, modules[i].name, object));
  }
  return exports;
}
