// Written by scripts/generate-field.mjs: see scripts/native-field.mjs. The field of scalars of secp256r1 (P-256).

export const FN_SIZE: usize = 32;
/** 1 in Montgomery form */
export const FN_ONE: usize = memory.data<u64>([0xc46353d039cdaaf, 0x4319055258e8617b, 0x0, 0xffffffff], 16);

@external("native", "p256_scalars_multiply") export declare function fnMultiply(out: usize, a: usize, b: usize): void;
@external("native", "p256_scalars_square") export declare function fnSquare(out: usize, a: usize): void;
@external("native", "p256_scalars_plain") export declare function fnPlain(out: usize, a: usize): void;
@external("native", "p256_scalars_invert") export declare function fnInvert(out: usize, a: usize): void;
@external("native", "p256_scalars_copy") export declare function fnCopy(out: usize, a: usize): void;
@external("native", "p256_scalars_read_plain") export declare function fnReadPlain(out: usize, bytes: usize): void;
@external("native", "p256_scalars_copy") export declare function fnWords(out: usize, a: usize): void;
/** big-endian → element. @returns whether it is below the modulus */
@external("native", "p256_scalars_read") export declare function fnRead(out: usize, bytes: usize): bool;
@external("native", "p256_scalars_write") export declare function fnWrite(bytes: usize, a: usize): void;
@external("native", "p256_scalars_is_zero") export declare function fnIsZero(a: usize): bool;
