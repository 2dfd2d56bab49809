import { bytesToHex, type Hex } from "viem";
import { mnemonicToAccount } from "viem/accounts";

/** The test mnemonic that every Ethereum tool knows. Its keys are public: nothing of value may ever be sent to them. */
export const DEV_MNEMONIC = "test test test test test test test test test test test junk";

/** What each account has on either chain, in wei. */
export const DEV_BALANCE = 10_000n * 10n ** 18n;

/** Whether the words are English ones of BIP-39, with the right checksum. */
export function isMnemonic(words: string): boolean {
  try {
    mnemonicToAccount(words);
    return true;
  } catch {
    return false;
  }
}

export interface DevAccount {
  readonly address: Hex;
  readonly privateKey: Hex;
}

/** The uses of the first accounts; the other accounts are free for users. */
export interface DevRoles {
  /** deploys the L1 contracts; owns them and the L2 ProxyAdmin */
  readonly owner: DevAccount;
  /** may propose output roots */
  readonly proposer: DevAccount;
  readonly batcher: DevAccount;
  /** signs unsafe blocks */
  readonly sequencer: DevAccount;
  readonly challenger: DevAccount;
}

/** Number of accounts with a role. */
const ROLES = 5;

/**
 * The first `count` accounts of a mnemonic, m/44'/60'/0'/0/i.
 *
 * @param firstRole index of the first of the accounts with a role: another chain on the same L1 has other accounts there
 */
export function devAccounts(count = 10, mnemonic = DEV_MNEMONIC, firstRole = 0): DevAccount[] {
  return Array.from({ length: count }, (_, index) => {
    const addressIndex = index < ROLES ? firstRole + index : index;
    const account = mnemonicToAccount(mnemonic, { addressIndex });
    const key = account.getHdKey().privateKey;
    if (!key) throw new Error(`no private key for account ${addressIndex}`);
    return { address: account.address, privateKey: bytesToHex(key) };
  });
}

export function devRoles(accounts: readonly DevAccount[]): DevRoles {
  const [owner, proposer, batcher, sequencer, challenger] = accounts;
  if (!owner || !proposer || !batcher || !sequencer || !challenger) throw new Error("the devnet needs five accounts or more");
  return { owner, proposer, batcher, sequencer, challenger };
}
