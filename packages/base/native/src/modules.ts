/** Common part of all modules: inputs and outputs are in the memory at `buffer()`. Addresses and lengths are u32. */
interface NativeModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** bytes of addressable memory */
  readonly size: number;
  buffer(): number;
  /** @returns 0 if this many bytes do not fit at `buffer()` */
  reserve(bytes: number): number;
}

/** See packages/execution/evm/assembly/precompiles/native.ts. */
interface NativeCurves extends NativeModule {
  bn254Add(bytes: number): number;
  bn254Multiply(bytes: number, signs: number): number;
  bn254Pairing(input: number, pairs: number): number;
  p256Verify(bytes: number): number;
}

/** See packages/execution/evm/assembly/bls12-381/bls12-381.ts. */
interface NativeBls12381 extends NativeModule {
  g1Add(bytes: number): number;
  g1Decompress(bytes: number): number;
  g1Msm(bytes: number, count: number): number;
  g2Add(bytes: number): number;
  g2Msm(bytes: number, count: number): number;
  pairing(bytes: number, count: number): number;
  mapFpToG1(bytes: number): number;
  mapFp2ToG2(bytes: number): number;
}

/** See packages/base/native/assembly/secp256k1.ts. */
export interface NativeSecp256k1 extends NativeModule {
  /**
   * `count` consecutive records at `records`, at most 64: hash 32 ‖ r 32 ‖ s 32 ‖ 1 if y is odd → x 32 ‖ y 32 ‖ … ‖ 1 if there is
   * a key. A record with a flag above 1 has no key. @returns 0 if `count` is too large
   */
  recover(records: number, count: number): number;
  /** SIMD lanes of `recover` on this processor: 8 (AVX-512), 4 (AVX2) or 0 (one by one). */
  laneCount(): number;
  /** `recover` in 8, 4 or 0 lanes. @returns 0 if the processor lacks the lanes */
  recoverInLanes(records: number, count: number, laneCount: number): number;
}

/** See packages/base/native/assembly/keccak.ts. */
export interface NativeKeccak extends NativeModule {
  /** SIMD lanes of `hashAll` on this processor: 8 (AVX-512), 4 (AVX2) or 0 (`hashAll` does not work then). */
  laneCount(): number;
  /**
   * Keccak-256 of `count` consecutive messages at `messages`, 32 bytes each at `digests`, in 8 or 4 lanes. `ends`: end offset of
   * each message, relative to `messages`, 4 bytes each. @returns 0 if the ends are not ascending, or the processor lacks the
   * lanes
   */
  hashAll(messages: number, ends: number, count: number, digests: number, laneCount: number): number;
}

export interface NativeModules {
  readonly keccak: NativeKeccak;
  readonly secp256k1: NativeSecp256k1;
  readonly precompiles: NativeCurves;
  readonly bls12381: NativeBls12381;
}
