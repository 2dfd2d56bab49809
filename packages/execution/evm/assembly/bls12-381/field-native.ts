// Written by scripts/generate-bls12-381.mjs. The base field of BLS12-381 (EIP-2537): see scripts/native-field.mjs.

export const FP_SIZE: usize = 48;
/** 1 in Montgomery form */
export const FP_ONE: usize = memory.data<u64>([0x760900000002fffd, 0xebf4000bc40c0002, 0x5f48985753c758ba, 0x77ce585370525745, 0x5c071a97a256ec6d, 0x15f65ec3fa80e493], 16);
/** y² = x³ + 4 */
export const CURVE_B: usize = memory.data<u64>([0xaa270000000cfff3, 0x53cc0032fc34000a, 0x478fe97a6b0a807f, 0xb1d37ebee6ba24d7, 0x8ec9733bbf78ab2f, 0x9d645513d83de7e], 16);
/** y² = x³ + 4(1 + u) */
export const TWIST_B: usize = memory.data<u64>([0xaa270000000cfff3, 0x53cc0032fc34000a, 0x478fe97a6b0a807f, 0xb1d37ebee6ba24d7, 0x8ec9733bbf78ab2f, 0x9d645513d83de7e, 0xaa270000000cfff3, 0x53cc0032fc34000a, 0x478fe97a6b0a807f, 0xb1d37ebee6ba24d7, 0x8ec9733bbf78ab2f, 0x9d645513d83de7e], 16);
export const HALF: usize = memory.data<u64>([0x1804000000015554, 0x855000053ab00001, 0x633cb57c253c276f, 0x6e22d1ec31ebb502, 0xd3916126f2d14ca2, 0x17fbb8571a006596], 16);
/** (βx, y) = −x²·(x, y) in G1, x the curve's parameter */
export const BETA: usize = memory.data<u64>([0x30f1361b798a64e8, 0xf3b8ddab7ece5a2a, 0x16a8ca3ac61577f7, 0xc26a2ff874fd029b, 0x3636b76660701c6e, 0x51ba4ab241b6160], 16);
/** ξ^((1 − p)/3) and ξ^((1 − p)/2), ξ = 1 + u */
export const PSI: usize = memory.data<u64>([0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x890dc9e4867545c3, 0x2af322533285a5d5, 0x50880866309b7e2c, 0xa20d1b8c7e881024, 0x14e4f04fe2db9068, 0x14e56d3f1564853a, 0x3e2f585da55c9ad1, 0x4294213d86c18183, 0x382844c88b623732, 0x92ad2afd19103e18, 0x1d794e4fac7cf0b9, 0xbd592fc7d825ec8, 0x7bcfa7a25aa30fda, 0xdc17dec12a927e7c, 0x2f088dd86b4ebef1, 0xd1ca2087da74d4a7, 0x2da2596696cebc1d, 0xe2b7eedbbfd87d2], 16);
/** ξ^(k·(p^n − 1)/6): n = 1, 2, 3, each with k = 1 … 5 */
export const FROBENIUS: usize = memory.data<u64>([0x7089552b319d465, 0xc6695f92b50a8313, 0x97e83cccd117228f, 0xa35baecab2dc29ee, 0x1ce393ea5daace4d, 0x8f2220fb0fb66eb, 0xb2f66aad4ce5d646, 0x5842a06bfc497cec, 0xcf4895d42599d394, 0xc11b9cba40a8e8d0, 0x2e3813cbe5a0de89, 0x110eefda88847faf, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0xcd03c9e48671f071, 0x5dab22461fcda5d2, 0x587042afd3851b95, 0x8eb60ebe01bacb9e, 0x3f97d6e83d050d2, 0x18f0206554638741, 0x7bcfa7a25aa30fda, 0xdc17dec12a927e7c, 0x2f088dd86b4ebef1, 0xd1ca2087da74d4a7, 0x2da2596696cebc1d, 0xe2b7eedbbfd87d2, 0x7bcfa7a25aa30fda, 0xdc17dec12a927e7c, 0x2f088dd86b4ebef1, 0xd1ca2087da74d4a7, 0x2da2596696cebc1d, 0xe2b7eedbbfd87d2, 0x890dc9e4867545c3, 0x2af322533285a5d5, 0x50880866309b7e2c, 0xa20d1b8c7e881024, 0x14e4f04fe2db9068, 0x14e56d3f1564853a, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x82d83cf50dbce43f, 0xa2813e53df9d018f, 0xc6f0caa53c65e181, 0x7525cf528d50fe95, 0x4a85ed50f4798a6b, 0x171da0fd6cf8eebd, 0x3726c30af242c66c, 0x7c2ac1aad1b6fe70, 0xa04007fbba4b14a2, 0xef517c3266341429, 0x95ba654ed2226b, 0x2e370eccc86f7dd, 0xecfb361b798dba3a, 0xc100ddb891865a2c, 0xec08ff1232bda8e, 0xd5c13cc6f1ca4721, 0x47222a47bf7b5c04, 0x110f184e51c5f59, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x30f1361b798a64e8, 0xf3b8ddab7ece5a2a, 0x16a8ca3ac61577f7, 0xc26a2ff874fd029b, 0x3636b76660701c6e, 0x51ba4ab241b6160, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x43f5fffffffcaaae, 0x32b7fff2ed47fffd, 0x7e83a49a2e99d69, 0xeca8f3318332bb7a, 0xef148d1ea0f4c069, 0x40ab3263eff0206, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0xcd03c9e48671f071, 0x5dab22461fcda5d2, 0x587042afd3851b95, 0x8eb60ebe01bacb9e, 0x3f97d6e83d050d2, 0x18f0206554638741, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x890dc9e4867545c3, 0x2af322533285a5d5, 0x50880866309b7e2c, 0xa20d1b8c7e881024, 0x14e4f04fe2db9068, 0x14e56d3f1564853a, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x3e2f585da55c9ad1, 0x4294213d86c18183, 0x382844c88b623732, 0x92ad2afd19103e18, 0x1d794e4fac7cf0b9, 0xbd592fc7d825ec8, 0x7bcfa7a25aa30fda, 0xdc17dec12a927e7c, 0x2f088dd86b4ebef1, 0xd1ca2087da74d4a7, 0x2da2596696cebc1d, 0xe2b7eedbbfd87d2, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x760900000002fffd, 0xebf4000bc40c0002, 0x5f48985753c758ba, 0x77ce585370525745, 0x5c071a97a256ec6d, 0x15f65ec3fa80e493, 0x3e2f585da55c9ad1, 0x4294213d86c18183, 0x382844c88b623732, 0x92ad2afd19103e18, 0x1d794e4fac7cf0b9, 0xbd592fc7d825ec8, 0x3e2f585da55c9ad1, 0x4294213d86c18183, 0x382844c88b623732, 0x92ad2afd19103e18, 0x1d794e4fac7cf0b9, 0xbd592fc7d825ec8, 0x43f5fffffffcaaae, 0x32b7fff2ed47fffd, 0x7e83a49a2e99d69, 0xeca8f3318332bb7a, 0xef148d1ea0f4c069, 0x40ab3263eff0206, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x7bcfa7a25aa30fda, 0xdc17dec12a927e7c, 0x2f088dd86b4ebef1, 0xd1ca2087da74d4a7, 0x2da2596696cebc1d, 0xe2b7eedbbfd87d2, 0x3e2f585da55c9ad1, 0x4294213d86c18183, 0x382844c88b623732, 0x92ad2afd19103e18, 0x1d794e4fac7cf0b9, 0xbd592fc7d825ec8], 16);

@external("native", "bls12381_multiply") export declare function fpMultiply(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_square") export declare function fpSquare(out: usize, a: usize): void;
@external("native", "bls12381_multiply") export declare function fpWide(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_copy") export declare function fpReduce(out: usize, a: usize): void;
@external("native", "bls12381_add") export declare function fpAddRaw(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_add") export declare function fpAdd(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_subtract") export declare function fpSubtract(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_subtract_two") export declare function fpSubtractTwo(out: usize, a: usize, b: usize, c: usize): void;
@external("native", "bls12381_subtract_double") export declare function fpSubtractDouble(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_negate") export declare function fpNegate(out: usize, a: usize): void;
@external("native", "bls12381_double") export declare function fpDouble(out: usize, a: usize): void;
@external("native", "bls12381_triple") export declare function fpTriple(out: usize, a: usize): void;
@external("native", "bls12381_times_four") export declare function fpTimesFour(out: usize, a: usize): void;
@external("native", "bls12381_add") export declare function fpAddReduced(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_subtract") export declare function fpSubtractReduced(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_subtract_two") export declare function fpSubtractTwoReduced(out: usize, a: usize, b: usize, c: usize): void;
@external("native", "bls12381_double") export declare function fpDoubleReduced(out: usize, a: usize): void;
@external("native", "bls12381_triple_plus_double") export declare function fpTriplePlusDouble(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_triple_minus_double") export declare function fpTripleMinusDouble(out: usize, a: usize, b: usize): void;
@external("native", "bls12381_plain") export declare function fpPlain(out: usize, a: usize): void;
@external("native", "bls12381_invert") export declare function fpInvert(out: usize, a: usize): void;
@external("native", "bls12381_copy") export declare function fpCopy(out: usize, a: usize): void;
@external("native", "bls12381_clear") export declare function fpClear(out: usize): void;
@external("native", "bls12381_is_odd") export declare function fpIsOdd(a: usize): bool;
@external("native", "bls12381_combine_products") export declare function fpWideCombine(low: usize, high: usize, middle: usize): void;
/** (p − 3)/4, 48 bytes, big-endian */
export const ROOT_EXPONENT: usize = memory.data<u8>([6, 128, 68, 122, 142, 95, 249, 166, 146, 198, 233, 237, 144, 210, 235, 53, 217, 29, 210, 225, 60, 225, 68, 175, 217, 204, 52, 168, 61, 172, 61, 137, 7, 170, 255, 255, 172, 84, 255, 255, 238, 127, 191, 255, 255, 255, 234, 170]);
/** big-endian → element. @returns whether it is below the modulus */
@external("native", "bls12381_read") export declare function fpRead(out: usize, bytes: usize): bool;
@external("native", "bls12381_write") export declare function fpWrite(bytes: usize, a: usize): void;
@external("native", "bls12381_is_zero") export declare function fpIsZero(a: usize): bool;
