//! revm as the peer of `npm run bench -- worst --revm=PROGRAM`: reads the lines that `../../src/worst-peer.ts` describes, and knows the state
//! that `../../src/worst-state.ts` makes up.
use revm::{
    context::{result::ExecutionResult, Context, TxEnv},
    database_interface::Database,
    primitives::{hardfork::SpecId, Address, Bytes, TxKind, B256, U256},
    state::{AccountInfo, Bytecode},
    ExecuteEvm, MainBuilder, MainContext,
};
use std::{
    collections::HashMap,
    convert::Infallible,
    io::{BufRead, Write},
};

const SENDER: Address = Address::new([0x99; 20]);
const KIND_ACCOUNT: u8 = 0xb0;
const KIND_CONTRACT: u8 = 0xc1;
const KIND_DELEGATED: u8 = 0xd7;

#[derive(Clone, Default)]
struct State {
    main: Address,
    codes: HashMap<Address, (B256, Bytecode)>,
    by_hash: HashMap<B256, Bytecode>,
    bulk: Vec<u8>,
}

fn rich() -> U256 {
    U256::from(10u64).pow(U256::from(24))
}

fn code_hash_of(address: Address) -> B256 {
    let mut hash = [address[0]; 32];
    hash[12..].copy_from_slice(address.as_slice());
    B256::new(hash)
}

impl Database for State {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        let one = U256::from(1);
        let account = |balance, nonce, code_hash| Some(AccountInfo { balance, nonce, code_hash, code: None, ..Default::default() });
        let empty = AccountInfo::default().code_hash;
        if let Some((hash, _)) = self.codes.get(&address) {
            return Ok(account(rich(), 1, *hash));
        }
        Ok(match address[0] {
            0x99 => account(rich(), 0, empty),
            KIND_ACCOUNT => account(one, 0, empty),
            KIND_CONTRACT | KIND_DELEGATED => account(one, 1, code_hash_of(address)),
            _ => None,
        })
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Infallible> {
        if hash[11] == KIND_CONTRACT && hash[12] == KIND_CONTRACT {
            let mut code = self.bulk.clone();
            let at = code.len() - 4;
            code[at..].copy_from_slice(&hash[28..]);
            return Ok(Bytecode::new_raw(code.into()));
        }
        if hash[11] == KIND_DELEGATED && hash[12] == KIND_DELEGATED {
            let mut target = [0; 20];
            target[0] = KIND_CONTRACT;
            target[16..].copy_from_slice(&hash[28..]);
            return Ok(Bytecode::new_eip7702(Address::new(target)));
        }
        Ok(self.by_hash[&hash].clone())
    }

    fn storage(&mut self, _: Address, slot: U256) -> Result<U256, Infallible> {
        Ok(if slot.to_be_bytes::<32>()[0] == 1 { slot } else { U256::ZERO })
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        Ok(B256::from(U256::from(number)))
    }
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn main() {
    let mut state = State::default();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "case" => state = State { main: words[1].parse().unwrap(), bulk: vec![0; 32], ..Default::default() },
            "code" => {
                let code = Bytecode::new_raw(words[2].parse::<Bytes>().unwrap());
                let hash = code.hash_slow();
                state.by_hash.insert(hash, code.clone());
                state.codes.insert(words[1].parse().unwrap(), (hash, code));
            }
            "bulk" => state.bulk = words[1].parse::<Bytes>().unwrap().to_vec(),
            "run" => {
                let data = words.get(2).map(|hex| hex.parse::<Bytes>().unwrap()).unwrap_or_default();
                let gas_limit: u64 = words[1].parse().unwrap();
                let mut evm = Context::mainnet()
                    .with_db(state.clone())
                    .modify_cfg_chained(|cfg| {
                        cfg.set_spec_and_mainnet_gas_params(SpecId::OSAKA);
                        cfg.disable_nonce_check = true;
                        cfg.tx_gas_limit_cap = Some(u64::MAX);
                    })
                    .modify_block_chained(|block| {
                        block.gas_limit = u64::MAX;
                        block.number = U256::from(1000);
                        block.timestamp = U256::from(1);
                    })
                    .build_mainnet();
                let to = TxKind::Call(state.main);
                let tx = TxEnv { caller: SENDER, kind: to, data, gas_limit, gas_price: 0, ..Default::default() };
                let before = cpu_ns();
                let result = evm.transact(tx);
                let ns = cpu_ns() - before;
                let (gas, status) = match result {
                    Ok(done) => (
                        done.result.tx_gas_used(),
                        match done.result {
                            ExecutionResult::Success { .. } => "success".to_string(),
                            ExecutionResult::Revert { .. } => "revert".to_string(),
                            ExecutionResult::Halt { reason, .. } => format!("{reason:?}").replace(' ', ""),
                        },
                    ),
                    Err(error) => (0, format!("{error:?}").replace(' ', "")),
                };
                writeln!(out, "{gas} {ns} {status}").unwrap();
                out.flush().unwrap();
            }
            _ => panic!("unknown word {}", words[0]),
        }
    }
}
