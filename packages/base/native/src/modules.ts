/** What every module has: inputs are written to its memory at `buffer()`, outputs are left there. Addresses and lengths are u32. */
interface NativeModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** bytes of memory that addresses reach */
  readonly size: number;
  buffer(): number;
  /** @returns 0 if there is no room for this many bytes at `buffer()` */
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
   * `count` records at `records`, one after the other, at most 64: hash 32 ‖ r 32 ‖ s 32 ‖ whether y is odd 1 → x 32 ‖ y 32 ‖ … ‖ whether
   * there is a key 1. A record whose flag is above 1 has no key. @returns 0: there are too many
   */
  recover(records: number, count: number): number;
  /** How many `recover` does at once, in the lanes of the processor's vectors: 8 (AVX-512), 4 (AVX2) or 0, one by one. */
  laneCount(): number;
  /** The same in 8, 4 or 0 lanes. @returns 0: there are not so many */
  recoverInLanes(records: number, count: number, laneCount: number): number;
}

/** See packages/base/native/assembly/keccak.ts. */
export interface NativeKeccak extends NativeModule {
  /** How many `hashAll` can do at once, in the lanes of the processor's vectors: 8 (AVX-512), 4 (AVX2) or 0, when it does nothing. */
  laneCount(): number;
  /**
   * Keccak-256 of `count` messages, one behind the other from `messages` on, into 32 bytes each from `digests` on, in 8 or 4 lanes. `ends`: where they end,
   * counted from `messages`, 4 bytes each. @returns 0: they are not in order, or there are not so many lanes
   */
  hashAll(messages: number, ends: number, count: number, digests: number, laneCount: number): number;
}

export interface NativeModules {
  readonly keccak: NativeKeccak;
  readonly secp256k1: NativeSecp256k1;
  readonly precompiles: NativeCurves;
  readonly bls12381: NativeBls12381;
}
