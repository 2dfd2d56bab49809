import { asciiToBytes, bytesToHex } from "../bytes.ts";
import { keccak256 } from "./hash.ts";

/** Mixed-case form of an address. Spec: EIP-55 */
export function checksumAddress(address: Uint8Array): string {
  const digits = bytesToHex(address).slice(2);
  const hash = bytesToHex(keccak256(asciiToBytes(digits))).slice(2);
  let mixed = "0x";
  for (let i = 0; i < digits.length; i++) mixed += Number.parseInt(hash[i]!, 16) >= 8 ? digits[i]!.toUpperCase() : digits[i];
  return mixed;
}
