// Loads the addon that scripts/build-native.mjs makes for this platform. `modules` by name, or `problem`: why there are none.
try {
  exports.modules = require(`./build/native-${process.platform}-${process.arch}.node`);
} catch (cause) {
  exports.problem = String(cause.message).split("\n", 1)[0];
}
