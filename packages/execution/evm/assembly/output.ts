/** Return data: the output of the last call. It is in the memory of the frame that ended, or in the host's output buffer. */
import { R_OUTPUT, R_OUTPUT_LENGTH } from "./layout";
import { allocate, blockSize, release } from "./heap";

let buffer: u32 = 0;
let bufferSize: u32 = 0;

/** Makes room for the output of a precompile, which becomes the return data. */
export function reserveOutput(length: u32): u32 {
  if (length > bufferSize) {
    if (buffer != 0) release(buffer, bufferSize);
    bufferSize = blockSize(length);
    buffer = allocate(bufferSize);
  }
  setReturnData(buffer, length);
  return buffer;
}

@inline export function setReturnData(pointer: u32, length: u32): void {
  store<u32>(R_OUTPUT, pointer);
  store<u32>(R_OUTPUT_LENGTH, length);
}

@inline export function returnData(): u32 {
  return load<u32>(R_OUTPUT);
}

@inline export function returnDataLength(): u32 {
  return load<u32>(R_OUTPUT_LENGTH);
}

let inputBuffer: u32 = 0;
let inputSize: u32 = 0;

/** Makes room for the data of a transaction, or for code that the host installs. */
export function reserveInput(length: u32): u32 {
  if (length > inputSize) {
    if (inputBuffer != 0) release(inputBuffer, inputSize);
    inputSize = blockSize(length);
    inputBuffer = allocate(inputSize);
  }
  return inputBuffer;
}
