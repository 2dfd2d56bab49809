// Written by scripts/generate-field.mjs: see scripts/native-field.mjs. The field of coordinates of secp256r1 (P-256).

export const FQ_SIZE: usize = 32;
/** 1 in Montgomery form */
export const FQ_ONE: usize = memory.data<u64>([0x1, 0xffffffff00000000, 0xffffffffffffffff, 0xfffffffe], 16);
/** y² = x³ − 3x + b */
export const CURVE_B: usize = memory.data<u64>([0xd89cdf6229c4bddf, 0xacf005cd78843090, 0xe5a220abf7212ed6, 0xdc30061d04874834], 16);
/** x, y, z */
export const GENERATOR: usize = memory.data<u64>([0x79e730d418a9143c, 0x75ba95fc5fedb601, 0x79fb732b77622510, 0x18905f76a53755c6, 0xddf25357ce95560a, 0x8b4ab8e4ba19e45c, 0xd2e88688dd21f325, 0x8571ff1825885d85, 0x1, 0xffffffff00000000, 0xffffffffffffffff, 0xfffffffe], 16);
/** The order of the group as an element of this field */
export const ORDER: usize = memory.data<u64>([0x9ad169483335f568, 0x89b1054463fe9931, 0x9c0166ce652e96b7, 0x98648c200fe30feb], 16);

@external("native", "p256_multiply") export declare function fqMultiply(out: usize, a: usize, b: usize): void;
@external("native", "p256_square") export declare function fqSquare(out: usize, a: usize): void;
@external("native", "p256_add") export declare function fqAdd(out: usize, a: usize, b: usize): void;
@external("native", "p256_subtract") export declare function fqSubtract(out: usize, a: usize, b: usize): void;
@external("native", "p256_subtract_double") export declare function fqSubtractDouble(out: usize, a: usize, b: usize): void;
@external("native", "p256_negate") export declare function fqNegate(out: usize, a: usize): void;
@external("native", "p256_double") export declare function fqDouble(out: usize, a: usize): void;
@external("native", "p256_triple") export declare function fqTriple(out: usize, a: usize): void;
@external("native", "p256_times_four") export declare function fqTimesFour(out: usize, a: usize): void;
@external("native", "p256_times_eight") export declare function fqTimesEight(out: usize, a: usize): void;
@external("native", "p256_plain") export declare function fqPlain(out: usize, a: usize): void;
@external("native", "p256_invert") export declare function fqInvert(out: usize, a: usize): void;
@external("native", "p256_copy") export declare function fqCopy(out: usize, a: usize): void;
/** big-endian → element. @returns whether it is below the modulus */
@external("native", "p256_read") export declare function fqRead(out: usize, bytes: usize): bool;
@external("native", "p256_write") export declare function fqWrite(bytes: usize, a: usize): void;
@external("native", "p256_is_zero") export declare function fqIsZero(a: usize): bool;
