// Written by packages/base/protocol/scripts/generate-networks.mjs; do not edit.
import type { NetworksTable } from "./network.ts";

// biome-ignore format: short objects stay on one line
export const NETWORKS_TABLE: NetworksTable = {
  registry: { commit: "8336d2aedd19b87a57b01ae36ba4afef8ea377d0", day: "2026-08-04" }, amendedDay: "2026-11-25",
  superchains: { mainnet: 1, "sepolia-devnet-2": 11155111, sepolia: 11155111, "sepolia-devnet-3": 11155111 },
  chains: {
    "mainnet/bob": {
      name: "BOB", chain_id: 60808, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x3a75346f81302aac0333fb5dcdd407e12a6cfa83",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1720627201, granite_time: 1726070401, holocene_time: 1736445601,
        isthmus_time: 1746806401,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1712861987, l1: { hash: "0x218132178d65c4bc490aadd93c31535326043fe1fe8fea2d87f26c1da83d45c2", number: 19634321 },
        l2: { hash: "0x8ed4903b7f9c3f7bb7a09374d63ae9c9852cd9aab1784b433c41dbeb47b4dba2", number: 0 },
        system_config: {
          batcherAddress: "0x08f9f14ff43e112b18c96f0986f28cb1878f1d11",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x8adee124447435fe03e3cd24df3f4cae32e65a3e",
        SystemConfigProxy: "0xacb886b75d76d1c8d9248cfddfa09b70c71c5393",
      },
    },
    "mainnet/boba": {
      name: "Boba Mainnet", chain_id: 288, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xfff0000000000000000000000000000000000288",
      hardforks: {
        canyon_time: 1713302879, delta_time: 1713302879, ecotone_time: 1713302880, fjord_time: 1725951600, granite_time: 1729753200,
        holocene_time: 1738785600,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1713302879, l1: { hash: "0x945d6244d259e63892abf93e5e6dd3388b79e25ae5ec0502e290a0d0163aa5cf", number: 19670718 },
        l2: { hash: "0x0a555516317be2719d9befcbcca5f5516b6b7ce0f05b759f5a166b697a8a0fbd", number: 1149019 },
        system_config: {
          batcherAddress: "0xe1b64045351b0b6e9821f19b39f81bc4711d2230",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000834",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000f4240", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x7b02d13904d8e6e0f0efaf756ab14cb0ff21ee7e",
        SystemConfigProxy: "0x158fd5715f16ac1f2dc959a299b383aaaf9b59eb",
      },
    },
    "mainnet/celo": {
      name: "Celo", chain_id: 42220, block_time: 1, seq_window_size: 7200, max_sequencer_drift: 2892,
      data_availability_type: "alt-da", batch_inbox_addr: "0xff00000000000000000000000000000000042220",
      gas_paying_token: "0x057898f3c43f129a17517b9056d23851f124b19f",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 1752073200,
        isthmus_time: 1752073200,
      },
      optimism: { eip1559_elasticity: 5, eip1559_denominator: 400, eip1559_denominator_canyon: 400 },
      genesis: {
        l2_time: 1742957258, l1: { hash: "0xe499ec12e12fc2c94e6714a94f2640dbc748ff6c26fd3f420b25264a3d90066f", number: 22128103 },
        l2: { hash: "0x7586014e20c69b3fa7c9070baf1a7edd95833db57853126f32593b455da2e5c5", number: 31056500 },
        system_config: {
          batcherAddress: "0x0cd08c7f7a96aa9635f761b49216b9ea74c5ca60",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x0100000000000000000000000000000000000000000000000000000000000000", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xc5c5d157928bdbd2acf6d0777626b6c75a9eaedc",
        SystemConfigProxy: "0x89e31965d844a309231b1f17759ccaf1b7c09861",
      },
    },
    "mainnet/cyber": {
      name: "Cyber Mainnet", chain_id: 7560, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "alt-da", batch_inbox_addr: "0xff00000000000000000000000000000000001d88",
      alt_da: {
        da_challenge_contract_address: "0x10e34efe14e4d270c0f77bf1af01b6c832161b49", da_challenge_window: 3600,
        da_resolve_window: 3600, da_commitment_type: "KeccakCommitment",
      },
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1767754800, granite_time: 1767841200, holocene_time: 1767927600,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1713428567, l1: { hash: "0x8fa2a34b37420b863aa33da7661a8929af8bd7a436b9e612c727eb5e63da3879", number: 19681125 },
        l2: { hash: "0x0bbf36c47db3b42b40b2e6cadc183612337d1ac8602eb9e57071ae0043e70fc7", number: 0 },
        system_config: {
          batcherAddress: "0xf0748c52edc23135d9845cdfb91279cf61ee14b4",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000b4",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x1d59bc9fce6b8e2b1bf86d4777289ffd83d24c99",
        SystemConfigProxy: "0x5d1f4bbaf6d484fa9d5d9705f92de6063bff6055",
      },
    },
    "mainnet/ethernity": {
      name: "Ethernity", chain_id: 183, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000000183",
      hardforks: {
        canyon_time: 1704992401, delta_time: 1708560000, ecotone_time: 1710374401, fjord_time: 1720627201, granite_time: 1726070401,
        holocene_time: 1736445601, isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401,
      },
      optimism: { eip1559_elasticity: 20, eip1559_denominator: 1000, eip1559_denominator_canyon: 1000 },
      genesis: {
        l2_time: 1723547735, l1: { hash: "0xbb7ad201b0ab296465865642878e9256e0fa4a3f8d06bca1f3e5c5b54be6be90", number: 20519340 },
        l2: { hash: "0xa5e974a6ace39285b42f92316a9e040e58f8ffc24e3aac124ff6243c28323607", number: 0 },
        system_config: {
          batcherAddress: "0x43ca061ea80fbb4a2b5515f4be4e953b191147af",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000f4240", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xda29f0b4da6c23f6c1af273945c290c0268c4ea9",
        SystemConfigProxy: "0x20c3035c92bdb4c461242571eeac59eed03df931",
      },
    },
    "mainnet/fraxtal": {
      name: "Fraxtal", chain_id: 252, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "alt-da", batch_inbox_addr: "0xff000000000000000000000000000000000420fc",
      hardforks: { canyon_time: 0, delta_time: 1717002001, ecotone_time: 1717009201, fjord_time: 1733947201, granite_time: 1738958401 },
      optimism: { eip1559_elasticity: 10, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1706810711, l1: { hash: "0x728dfc57386f6c2a646e03b7346f567b3117b7f487c6f590392abd1509248053", number: 19135251 },
        l2: { hash: "0x521982bd54239dc71269eefb58601762cc15cfb2978e0becb46af7962ed6bfaa", number: 0 },
        system_config: {
          batcherAddress: "0x6017f75108f251a488b045a7ce2a7c15b179d1f2",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000834",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000f4240", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x36cb65c1967a0fb0eee11569c51c2f2aa1ca6f6d",
        SystemConfigProxy: "0x34a9f273cbd847d49c3de015fc26c3e66825f8b2",
      },
    },
    "mainnet/funki": {
      name: "Funki", chain_id: 33979, block_time: 2, seq_window_size: 8400, max_sequencer_drift: 1800,
      data_availability_type: "alt-da", batch_inbox_addr: "0xff00000000000000000000000000000084bb84bb",
      alt_da: {
        da_challenge_contract_address: "0xf40b807c2407e1d7dabb85f3ceefd5eacc7bf3cd", da_challenge_window: 3600,
        da_resolve_window: 3600, da_commitment_type: "KeccakCommitment",
      },
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 1767582000, holocene_time: 1767668400 },
      optimism: { eip1559_elasticity: 10, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1721211095, l1: { hash: "0xa0768467271297b618c4306469577fd14ba5b0c0488d6e9710a24762cbfe2928", number: 20325568 },
        l2: { hash: "0x7d2831dd811c616d073342a3074f2ce737c6b200b8192f9528e8bf32b1fac83e", number: 0 },
        system_config: {
          batcherAddress: "0x73c98cf34af1f7d798e8e6f34b16037530bffc41",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x0100000000000000000000000000000000000000000000000000000000003138", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x5c9c7f98ed153a2deaa981eb5c97b31744accf22",
        SystemConfigProxy: "0xd39a6cccfa23cb741bb530497e42ec337f1215a8",
      },
    },
    "mainnet/hashkeychain": {
      name: "HashKey Chain", chain_id: 177, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 1800,
      data_availability_type: "eth-da", batch_inbox_addr: "0x0004cb44c80b6fbf8ceb1d80af688c9f7c0b2ab5",
      gas_paying_token: "0xe7c6bf469e97eeb0bfb74c8dbff5bd47d4c1c98a",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1734347135, l1: { hash: "0x0b4540b35529055a65950aef56df1a8fe22144f453f3bbc521a1248a8edbf761", number: 21414667 },
        l2: { hash: "0xa96aea946b763641b616ce0c69f37e61d9cd0abd709ef13a6b833e67b76de208", number: 0 },
        system_config: {
          batcherAddress: "0x9391791f7cb74f8bfda65edc0749efd964311b55",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000ffffffff01312d00", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xe7aa79b59cac06f9706d896a047feb9d3bda8bd3",
        SystemConfigProxy: "0x43f8defe3e9286d152e91bb16a248808e7247198",
      },
    },
    "mainnet/ink": {
      name: "Ink", chain_id: 57073, block_time: 1, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x005969bf0ecbf6edb6c47e5e94693b1c3651be97",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 1742396400,
        isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401, keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 250, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1733498411, l1: { hash: "0x39e4e0c0c94f8076134b441a9dc18d10b595fd9777edeb763bb9f9bd8f922fd9", number: 21344310 },
        l2: { hash: "0x23a2658170ba70d014ba0d0d2709f8fbfe2fa660cd868c5f282f991eecbe38ee", number: 0 },
        system_config: {
          batcherAddress: "0x500d7ea63cf2e501dadaa5feec1fc19fe2aa72ac",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x5d66c1782664115999c47c9fa5cd031f495d3e4f",
        SystemConfigProxy: "0x62c0a111929fa32cec2f76adba54c16afb6e8364",
      },
    },
    "mainnet/lyra": {
      name: "Lyra Chain", chain_id: 957, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "alt-da", batch_inbox_addr: "0x5f7f7f6db967f0ef10bda0678964dba185d16c50",
      hardforks: {
        canyon_time: 1704992401, delta_time: 1708560000, ecotone_time: 1710374401, fjord_time: 1720627201, granite_time: 1726070401,
        holocene_time: 1736445601, isthmus_time: 1746806401,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1700021615, l1: { hash: "0x00b06b23108483a0b6af8ff726b5ed3f508b7986f72c12679b10d72c05839716", number: 18574841 },
        l2: { hash: "0x047f535b3da7ad4f96d353b5a439740b7591413daee0e2f27dd3aabb24581af2", number: 0 },
        system_config: {
          batcherAddress: "0x14e4e97bdc195d399ad8e7fc14451c279fe04c8e",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x85ea9c11cf3d4786027f7fd08f4406b15777e5f8",
        SystemConfigProxy: "0x0e4c4cdd01cecb01070e9fdfe7600871e4ae996e",
      },
    },
    "mainnet/metal": {
      name: "Metal L2", chain_id: 1750, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xc83f7d9f2d4a76e81145849381aba02602373723",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1720627201, granite_time: 1726070401, holocene_time: 1736445601,
        isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1711563515, l1: { hash: "0x2493565ce8472656b7c22377c8d4d8ef5d17f78392c799ca5f2429b01e2c159c", number: 19527340 },
        l2: { hash: "0xd31c12ffff2d563897ad9a041c0d26790d635911bdbbfa589347fa955f75281e", number: 0 },
        system_config: {
          batcherAddress: "0xc94c243f8fb37223f3eb2f7961f7072602a51b8b",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x3f37abde2c6b5b2ed6f8045787df1ed1e3753956",
        SystemConfigProxy: "0x7bd909970b0eedcf078de6aeff23ce571663b8aa",
      },
    },
    "mainnet/mode": {
      name: "Mode", chain_id: 34443, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x24e59d9d3bd73ccc28dc54062af7ef7bff58bd67",
      hardforks: {
        canyon_time: 1704992401, delta_time: 1708560000, ecotone_time: 1710374401, fjord_time: 1720627201, granite_time: 1726070401,
        holocene_time: 1736445601, isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1700167583, l1: { hash: "0xf9b1b22a7ef9d13f063ea467bcb70fb6e9f29698ecb7366a2cdf5af2165cacee", number: 18586927 },
        l2: { hash: "0xb0f682e12fc555fd5ce8fce51a59a67d66a5b46be28611a168260a549dac8a9b", number: 0 },
        system_config: {
          batcherAddress: "0x99199a22125034c808ff20f377d91187e8050f2e",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x8b34b14c7c7123459cf3076b8cb929be097d0c07",
        SystemConfigProxy: "0x5e6432f18bc5d497b1ab2288a025fbf9d69e2221",
      },
    },
    "mainnet/op": {
      name: "OP Mainnet", chain_id: 10, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000000010",
      hardforks: {
        canyon_time: 1704992401, delta_time: 1708560000, ecotone_time: 1710374401, fjord_time: 1720627201, granite_time: 1726070401,
        holocene_time: 1736445601, isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401,
        keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1686068903, l1: { hash: "0x438335a20d98863a4c0c97999eb2481921ccd28553eac6f913af7c12aec04108", number: 17422590 },
        l2: { hash: "0xdbf6a80fef073de06add9b0d14026d6e5a86c85f6d102c36d3d8e9cf89c2afd3", number: 105235063 },
        system_config: {
          batcherAddress: "0x6887246668a3b87f54deb3b94ba47a6f63f32985",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xbeb5fc579115071764c7423a4f12edde41f106ed",
        SystemConfigProxy: "0x229047fed2591dbec1ef1118d64f7af3db9eb290",
      },
    },
    "mainnet/orderly": {
      name: "Orderly Mainnet", chain_id: 291, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "alt-da", batch_inbox_addr: "0x08aa34cc843ceebcc88a627f18430294aa9780be",
      hardforks: {
        canyon_time: 1704992401, delta_time: 1708560000, ecotone_time: 1710374401, fjord_time: 1720627201, granite_time: 1726070401,
        holocene_time: 1736445601, isthmus_time: 1746806401,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1696608227, l1: { hash: "0x787d5dd296d63bc6e7a4158d4f109e1260740ee115f5ed5124b35dece1fa3968", number: 18292529 },
        l2: { hash: "0xe53c94ddd42714239429bd132ba2fa080c7e5cc7dca816ec6e482ec0418e6d7f", number: 0 },
        system_config: {
          batcherAddress: "0xf8db8aba597ff36ccd16fecfbb1b816b3236e9b8",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x91493a61ab83b62943e6dcaa5475dd330704cc84",
        SystemConfigProxy: "0x886b187c3d293b1449a3a0f23ca9e2269e0f2664",
      },
    },
    "mainnet/race": {
      name: "RACE Mainnet", chain_id: 6805, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000006805",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1720421591, l1: { hash: "0xb6fd41e6c3515172c36d3912046264475eaad84c2c56e99d74f4abd1a75b63c9", number: 20260129 },
        l2: { hash: "0xa864791943836c37b40ea688f3853f2198afb683a3e168d48bfa76c9896e3e65", number: 0 },
        system_config: {
          batcherAddress: "0x8cda8351236199af7532bad53d683ddd9b275d89",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x0485ca8a73682b3d3f5ae98cdca1e5b512e728e9",
        SystemConfigProxy: "0xcf6a32db8b3313b3d439ce6909511c2c3415fa32",
      },
    },
    "mainnet/settlus-mainnet": {
      name: "Settlus Mainnet", chain_id: 5371, block_time: 1, seq_window_size: 3600, max_sequencer_drift: 1800,
      data_availability_type: "eth-da", batch_inbox_addr: "0x003e40d3125591bd722ab1bb880c78e4d74d0977",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1740171575, l1: { hash: "0x7737a04d48b78bd5ce39fdd16a5ecf652e3c35ee5226a56869aa0cbb230acbcb", number: 21897258 },
        l2: { hash: "0x47a86b86dc4ba2e8c877515717dab337673a24dc3fb06d69ac9f07e9949a48c6", number: 0 },
        system_config: {
          batcherAddress: "0xd0b4c3ac8a50b6f1b3949adaf55cc9805620eb57",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xfc1d560eb01443e31b0eb56620703e80e42a7e4e",
        SystemConfigProxy: "0x15c1daed5443a77b4dcf6fe35cafccebb0c6da0e",
      },
    },
    "mainnet/shape": {
      name: "Shape", chain_id: 360, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 1800,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000000360",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 1727370000 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1721744471, l1: { hash: "0x64772c7ca14e37ca9f0662b7d16b250f486218656012c0da994396608584b2b1", number: 20369793 },
        l2: { hash: "0xf17c665ffdebe214ec214bcd798c725141e7b5c29799500abd6a8738d15bdebe", number: 0 },
        system_config: {
          batcherAddress: "0xf7ca543d652e38692fd12f989eb55b5327ec9a20",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xeb06ffa16011b5628bab98e29776361c83741dd3",
        SystemConfigProxy: "0xff11e41d5c4f522e423ff6c064ff8d55af8f7355",
      },
    },
    "mainnet/silent-data-mainnet": {
      name: "Silent Data Mainnet", chain_id: 380929, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "alt-da", batch_inbox_addr: "0x00a7a8fdb9a61f85dd8f926f4e1723927a18c9f3",
      alt_da: {
        da_challenge_contract_address: "0xef8dfcf9a3915f0dd8194e398ec2ca0168690613", da_challenge_window: 16, da_resolve_window: 16,
        da_commitment_type: "KeccakCommitment",
      },
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1753442723, l1: { hash: "0x733567d023d25b9005fb1bc6c6027e6b3e97890db987c90219d9eaf01e9d3f49", number: 22995849 },
        l2: { hash: "0xc46d5d70c0b72228124c217822261df39071bd2059f710bda0ef17551b2a05c3", number: 0 },
        system_config: {
          batcherAddress: "0xca4c95a5a1660d14df8ec6c53537964f9c5367c7",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xccd285b1ccf1cdab36da995b9fc68870e287694e",
        SystemConfigProxy: "0x5c3efe3ca554816e9960c02ae3b4eb3a9a8d2e16",
      },
    },
    "mainnet/soneium": {
      name: "Soneium", chain_id: 1868, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x008dc74cecc9deda8595b2fe210ce5979f0bfa8e",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 1738573200,
        isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401, keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1733134751, l1: { hash: "0x68b4ad05c3dafc2613853d26cf39f0e1716e986f879207440f187b56c12cb4d6", number: 21314185 },
        l2: { hash: "0x295d22d269634c7d0055b33b887519362d0b31899e97109d1789a8a168de1b21", number: 0 },
        system_config: {
          batcherAddress: "0x6776be80dbada6a02b5f2095cf13734ac303b8d1",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x88e529a6ccd302c948689cd5156c83d4614fae92",
        SystemConfigProxy: "0x7a8ed66b319911a0f3e7288bddab30d9c0c875c3",
      },
    },
    "mainnet/swan": {
      name: "Swan Chain Mainnet", chain_id: 254, block_time: 5, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000000254",
      hardforks: { canyon_time: 0, delta_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1718640215, l1: { hash: "0x90dafe09640e2858bce2675c66da6b0f136215a179d49f5c9274252bd5a1f8a2", number: 20112576 },
        l2: { hash: "0x834c39d79eb75c4c52d745e624750b817b66eb13e483b035c42ec3aa5cfa7429", number: 0 },
        system_config: {
          batcherAddress: "0xde794bec196832474f2f218135bfd0f7ca7fb038",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000834",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000f4240", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xba50434bc5fcc07406b1bad9ac72a4cdf776db15",
        SystemConfigProxy: "0x504d56cf68f791b45e3a2e895b0e1562f3431328",
      },
    },
    "mainnet/tbn": {
      name: "Binary Mainnet", chain_id: 624, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000000624",
      gas_paying_token: "0x04e9d7e336f79cdab911b06133d3ca2cd0721ce3",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1725536344, granite_time: 1726070401, holocene_time: 1736445601,
        isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1719397463, l1: { hash: "0xdcc5838ee3dd0af995c87bec9614a09f08dd8979014876b42fd7e3ae044dd8c4", number: 20175246 },
        l2: { hash: "0xe222b4b07ee9c885d13ee341823c92aa449f9769ac68fb5f1e1d4e602a990a4a", number: 0 },
        system_config: {
          batcherAddress: "0x7f9d9c1bce1062e1077845ea39a0303429600a06",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x5ff88fcf8e9947f45f4caf8ffd5231b5ddf05e0a",
        SystemConfigProxy: "0x7ac7e5989eac278b7bbfef560871a2026bad472c",
      },
    },
    "mainnet/unichain": {
      name: "Unichain", chain_id: 130, block_time: 1, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000000130",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 1736445601,
        isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401, keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1730748359, l1: { hash: "0x8c799ed21bd97471f76ba48ea54b30f8169c7e4e4a22acfba06951b571e0f4b6", number: 21116363 },
        l2: { hash: "0x3425162ddf41a0a1f0106d67b71828c9a9577e6ddeb94e4f33d2cde1fdc3befe", number: 0 },
        system_config: {
          batcherAddress: "0x2f60a5184c63ca94f82a27100643dbabe4f3f7fd",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000dbba0000007d0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x0bd48f6b86a26d3a217d0fa6ffe2b491b956a7a2",
        SystemConfigProxy: "0xc407398d063f942febbcc6f80a156b47f3f1bda6",
      },
    },
    "mainnet/worldchain": {
      name: "World Chain", chain_id: 480, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 1800,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000000480",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1721826000, granite_time: 1727780400, holocene_time: 1738238400,
        isthmus_time: 1764072000, jovian_time: 1777593600, karst_time: 1789992000,
      },
      optimism: { eip1559_elasticity: 10, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1719335639, l1: { hash: "0x793daed4743301e00143be5533cd1dce0a741519e9e9c96588a9ad7dbb4d8db4", number: 20170118 },
        l2: { hash: "0x70d316d2e0973b62332ba2e9768dd7854298d7ffe77f0409ffdb8d859f2d3fa3", number: 0 },
        system_config: {
          batcherAddress: "0xdbbe3d8c2d2b22a2611c5a94a9a12c2fcd49eb29",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 100000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xd5ec14a83b7d95be1e2ac12523e2dee12cbeea6c",
        SystemConfigProxy: "0x6ab0777fd0e609ce58f939a7f70fe41f5aa6300a",
      },
    },
    "mainnet/zora": {
      name: "Zora", chain_id: 7777777, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x6f54ca6f6ede96662024ffd61bfd18f3f4e34dff",
      hardforks: {
        canyon_time: 1704992401, delta_time: 1708560000, ecotone_time: 1710374401, fjord_time: 1720627201, granite_time: 1726070401,
        holocene_time: 1736445601, isthmus_time: 1746806401, jovian_time: 1764691201, karst_time: 1783526401,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1686693839, l1: { hash: "0xbdbd2847f7aa5f7cd1bd4c9f904057f4ba0b498c7e380199c01d240e3a41a84f", number: 17473923 },
        l2: { hash: "0x47555a45a1af8d4728ca337a1e48375a83919b1ea16591e070a07388b7364e29", number: 0 },
        system_config: {
          batcherAddress: "0x625726c858dbf78c0125436c943bf4b4be9d9033",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x1a0ad011913a150f69f6a19df447a0cfd9551054",
        SystemConfigProxy: "0xa3cab0126d5f504b071b81a3e8a2bbbf17930d86",
      },
    },
    "sepolia-devnet-2/sepolia-devnet-2": {
      name: "sepolia-devnet-2", chain_id: 420130015, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x00ab2d21a3e869a42603c37731699d1eedf89eb3",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 0, isthmus_time: 0,
        jovian_time: 0, karst_time: 0,
      },
      interop: { dependencies: { "420130015": {} } },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1783536096, l1: { hash: "0x46fb808baa0c4cf0b71e2f85bff8529011a84944529ccbf257e9c82ca88200ba", number: 11231178 },
        l2: { hash: "0x782e7ef559d86bd85ca14b3b51bcd64b2a5abba5bf3017d83d34e666d8dc0a57", number: 0 },
        system_config: {
          batcherAddress: "0x62a6ed699757efa7c6d7e14e11aff684e904e91a",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c3c9d00000558", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xce313e6d194260417ff9fee5c58f487d1da9fce0",
        SystemConfigProxy: "0x5f91ea5eea70e505b457a442dc7a8e5d9641b937",
      },
    },
    "sepolia-devnet-3/sepolia-devnet-3": {
      name: "sepolia-devnet-3", chain_id: 420130018, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x004993affe905f42aae45e1a5f78c830766c3e79",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 0, isthmus_time: 0,
        jovian_time: 0, karst_time: 0,
      },
      interop: { dependencies: { "420130018": {} } },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1786642416, l1: { hash: "0x2b469fe62dfd6604e392eb59bf1803901f95b68d307971d5111f3c55d01c74d9", number: 11481671 },
        l2: { hash: "0xaab365bf4b86a69dcec883fdd462a8d8eccd7947e1fcb8a25b67be1e82bdbf79", number: 0 },
        system_config: {
          batcherAddress: "0x9595c7b2697cd91f0e920068693dee2f0aaf5150",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c3c9d00000558", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x49fd1562cb0290c535813bfdfb43949762ae96b2",
        SystemConfigProxy: "0x66dac055c7cd3b3a043760521dca840cb3e8f3ff",
      },
    },
    "sepolia/boba": {
      name: "Boba Sepolia Testnet", chain_id: 28882, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xfff0000000000000000000000000000000028882",
      hardforks: {
        canyon_time: 1705600788, delta_time: 1709078400, ecotone_time: 1709078400, fjord_time: 1722297600, granite_time: 1726470000,
        holocene_time: 1736150400, pectra_blob_schedule_time: 1743534000,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1705600788, l1: { hash: "0x632d8caedbfd573e09c1b49134bd5147147e0904e0f04eba15c662be0258f517", number: 5109513 },
        l2: { hash: "0x097654c4c932c97808933b42179388f7bbcefaed3bd93fdf69157e19f1deea0e", number: 511 },
        system_config: {
          batcherAddress: "0xf598b6388ec06945021699f0bbb23dfcfc5edbe8",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000834",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000f4240", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xb079e6fa9b3eb072febf7f746044834eab308db6",
        SystemConfigProxy: "0xfdc9bce032cef55a71b4fde9b9a2198ad1551965",
      },
    },
    "sepolia/camp": {
      name: "Camp Network Testnet V2", chain_id: 325000, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000325000",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 1723478400, holocene_time: 1732633200 },
      optimism: { eip1559_elasticity: 10, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1718120160, l1: { hash: "0x124b0011271c5810826f74bf8767467009e136fecf0f8e80327b0000fb0456e5", number: 6086446 },
        l2: { hash: "0x7c7c4f48d2f33a04c5cbabc8b6ba6315f283d6ae0a874118ceb8881e21bfd05e", number: 0 },
        system_config: {
          batcherAddress: "0x624811105f39936d5ce277d93292061abfedd4d5",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000f4240", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x4238fab3746d41e18c87138b505b6857cef6cd1f",
        SystemConfigProxy: "0x7aa405b004401be20d4a587de34aeec99be0b268",
      },
    },
    "sepolia/celo-sep": {
      name: "Celo Sepolia Testnet", chain_id: 11142220, block_time: 1, seq_window_size: 7200, max_sequencer_drift: 600,
      data_availability_type: "alt-da", batch_inbox_addr: "0x00076c1f80cdb1d670046465c5ccd04e9e78c1f0",
      gas_paying_token: "0x3c7011fd5e6aed460caa4985cf8d8caba435b092",
      alt_da: {
        da_challenge_contract_address: "0x0000000000000000000000000000000000000000", da_challenge_window: 1, da_resolve_window: 1,
        da_commitment_type: "GenericCommitment",
      },
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 0 },
      optimism: { eip1559_elasticity: 5, eip1559_denominator: 400, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1753283988, l1: { hash: "0xeed417004236aa692023c216e8f1bd2185ac87a70c6f4393099f9c3777f05675", number: 8825790 },
        l2: { hash: "0x1b65cd292881564a4ba788e0822ef07f6dd558c76466ee9d1f07b57065b392f4", number: 0 },
        system_config: {
          batcherAddress: "0xe80d3f16e4d44a5127e1bd6ad9ed4e17a96475f0",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x0100000000000000000000000000000000000000000000000000000000000000", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x44ae3d41a335a7d05eb533029917aad35662dcc2",
        SystemConfigProxy: "0x760a5f022c9940f4a074e0030be682f560d29818",
      },
    },
    "sepolia/cyber": {
      name: "Cyber Testnet", chain_id: 111557560, block_time: 10, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000042069",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, pectra_blob_schedule_time: 1744696800 },
      optimism: { eip1559_elasticity: 10, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1710470112, l1: { hash: "0x0ad7012996ee943369fe592424821845ab115e43a9bc5d4e17bf9493869f98e3", number: 5488109 },
        l2: { hash: "0xd61aa9a43cba806375bec108aba488f00cf784a53a6e5164bc3ef9eb8b169eaf", number: 0 },
        system_config: {
          batcherAddress: "0x90bb84339856530192cd002533cd7f1290fc5142",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000834",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000f4240", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x06c9cadb0346c8e142fb8299cef3eb5120d4c9b6",
        SystemConfigProxy: "0x43b838aa237b27c4fc953e591594cebb1ca2817f",
      },
    },
    "sepolia/funki": {
      name: "Funki Sepolia Testnet", chain_id: 3397901, block_time: 2, seq_window_size: 28800, max_sequencer_drift: 600,
      data_availability_type: "alt-da", batch_inbox_addr: "0xff000000000000000000000000000000000084bb",
      alt_da: {
        da_challenge_contract_address: "0x12c6a7db25b20347ca6f5d47e56d5e8219871c6d", da_challenge_window: 1, da_resolve_window: 1,
        da_commitment_type: "KeccakCommitment",
      },
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, pectra_blob_schedule_time: 1744696800 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1715060436, l1: { hash: "0x6bc7182e10df2bf35d76362989e10e2c6799c4ceff2eb32741cb804dfab9dd06", number: 5853286 },
        l2: { hash: "0xcebbf8fc7d0fab412866fe1e7df73c721104550ec35e55d173064acb2c0aeac9", number: 0 },
        system_config: {
          batcherAddress: "0xda19a4e4d1dbc69bacf13435f08f76ced9b3c245",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000b4",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xcee7ef4ddf482447fe14c605ea94b37cbe87ca9d",
        SystemConfigProxy: "0xd6a01f1ef51d65f023433992a8f62feead35b172",
      },
    },
    "sepolia/giwa": {
      name: "GIWA Sepolia", chain_id: 91342, block_time: 1, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x00ef2e3b7754f2a65f1e897a27a3306d9b52f544",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 0, isthmus_time: 1753349700,
        jovian_time: 1767070800, karst_time: 1783317600,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1753345116, l1: { hash: "0xa8abf5bcc0d58df55c95bd5b7d197e91a7c10d05eed3ac17362ede48fc87cae1", number: 8830872 },
        l2: { hash: "0xca1b5fee64a196abfca007b3a4d4e3ec2b37be83a452d452bf4e45937004cab2", number: 0 },
        system_config: {
          batcherAddress: "0x1caaaa58002a7e8b4c6f427ac2c943767b4d6cd7",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x956962c34687a954e611a83619abaa37ce6bc78a",
        SystemConfigProxy: "0x8352825ba56c32d816dd906ad4a392b5bc9ec984",
      },
    },
    "sepolia/ink": {
      name: "Ink Sepolia", chain_id: 763373, block_time: 1, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x004de1914f4f17ac234f5a5bc8a4072a231d44bf",
      hardforks: {
        canyon_time: 1699981200, delta_time: 1703203200, ecotone_time: 1708534800, fjord_time: 1716998400, granite_time: 1723478400,
        holocene_time: 1732633200, pectra_blob_schedule_time: 1742486400, isthmus_time: 1744905600, jovian_time: 1763568001,
        karst_time: 1781712001, keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1729003296, l1: { hash: "0x5fb818b4d3ba100eeb3347c508bca24752ee88f235120e108bd9ee5d1b2ae50b", number: 6880819 },
        l2: { hash: "0xe5fd5cf0be56af58ad5751b401410d6b7a09d830fa459789746a3d0dd1c79834", number: 0 },
        system_config: {
          batcherAddress: "0x21e57c21530bc33f12ba96c9ddc135488365002f",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x5c1d29c6c9c8b0800692acc95d700bcb4966a1d7",
        SystemConfigProxy: "0x05c993e60179f28bf649a2bb5b00b5f4283bd525",
      },
    },
    "sepolia/metal": {
      name: "Metal L2 Testnet", chain_id: 1740, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x24567b64a86a4c966655fba6502a93dfb701e316",
      hardforks: {
        canyon_time: 1708129622, delta_time: 1708385400, ecotone_time: 1708534800, fjord_time: 1716998400, granite_time: 1723478400,
        holocene_time: 1732633200, pectra_blob_schedule_time: 1742486400, isthmus_time: 1744905600, jovian_time: 1763568001,
        karst_time: 1781712001, keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1708129620, l1: { hash: "0x6a10927c70985f75898c48235b620acb2a48e9c777a40022f9dbad1b0c96a9c1", number: 5304030 },
        l2: { hash: "0xd24cf8e46b189b0c128dab4e46168520e3a4cdd390b239e8cc1e5abd22a629ae", number: 0 },
        system_config: {
          batcherAddress: "0xdb80eca386ac72a55510e33cf9cf7533e75916ee",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x01d4dfc994878682811b2980653d03e589f093cb",
        SystemConfigProxy: "0x5d63a8dc2737ce771aa4a6510d063b6ba2c4f6f2",
      },
    },
    "sepolia/mode": {
      name: "Mode Testnet", chain_id: 919, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xcddae6148da1e003c230e4527f9baedc8a204e7e",
      hardforks: {
        canyon_time: 1703203200, delta_time: 1703203200, ecotone_time: 1708534800, fjord_time: 1716998400, granite_time: 1723478400,
        holocene_time: 1732633200, pectra_blob_schedule_time: 1742486400, isthmus_time: 1744905600, jovian_time: 1763568001,
        karst_time: 1781712001, keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1687867932, l1: { hash: "0x4370cafe528a1b8f2aaffc578094731daf69ff82fd9edc30d2d842d3763f3410", number: 3778382 },
        l2: { hash: "0x13c352562289a88ed33087a51b6b6c859a27709c8555c9def7cb9757c043acad", number: 0 },
        system_config: {
          batcherAddress: "0x4e6bd53883107b063c502ddd49f9600dc51b3ddc",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x320e1580efff37e008f1c92700d1eba47c1b23fd",
        SystemConfigProxy: "0x15cd4f6e0ce3b4832b33cb9c6f6fe6fc246754c2",
      },
    },
    "sepolia/op": {
      name: "OP Sepolia Testnet", chain_id: 11155420, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000011155420",
      hardforks: {
        canyon_time: 1699981200, delta_time: 1703203200, ecotone_time: 1708534800, fjord_time: 1716998400, granite_time: 1723478400,
        holocene_time: 1732633200, pectra_blob_schedule_time: 1742486400, isthmus_time: 1744905600, jovian_time: 1763568001,
        karst_time: 1781712001, keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1691802540, l1: { hash: "0x48f520cf4ddaf34c8336e6e490632ea3cf1e5e93b0b2bc6e917557e31845371b", number: 4071408 },
        l2: { hash: "0x102de6ffb001480cc9b8b548fd05c34cd4f46ae4aa91759393db90ea0409887d", number: 0 },
        system_config: {
          batcherAddress: "0x8f23bb38f531600e5d8fddaaec41f13fab46e98c",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x16fc5058f25648194471939df75cf27a2fdc48bc",
        SystemConfigProxy: "0x034edd2a225f7f429a63e0f1d2084b9e0a93b538",
      },
    },
    "sepolia/ozean": {
      name: "Ozean Poseidon Testnet", chain_id: 7849306, block_time: 2, seq_window_size: 21600, max_sequencer_drift: 3600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xa1e1342d477f296820bd525575e873c9dd535737",
      gas_paying_token: "0x43bd82d1e29a1bec03afd11d5a3252779b8c760c",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 250, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1724805984, l1: { hash: "0x85467f187f321ff4e778a905e2e8b976469fbd2a9b31a41b0037d0ffb84757df", number: 6584523 },
        l2: { hash: "0xb32768b76d1a3e84947da1caf37443f46003bff8f24ceee43db387452cba5da1", number: 0 },
        system_config: {
          batcherAddress: "0x5c871e31efdf4875dcd68c9a7a5766c1e4c1e54f",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000834",
          scalar: "0x01000000000000000000000000000000000000000000000000000000000a31c2", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x6eeea09335d09870dd467fd34ecc10fdb5106527",
        SystemConfigProxy: "0xdec733b0643e7c3bd06576a4c70ca87e301eae87",
      },
    },
    "sepolia/pivotal": {
      name: "Pivotal Sepolia", chain_id: 16481, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff000000000000000000000b0000000000016481",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1724315616, l1: { hash: "0x416fb0d9f67e3b0e9701c6bfcb03a13732ddb397158fa8c2ed6e53a33c10995c", number: 6548454 },
        l2: { hash: "0xac7379723e9ff584c00e1cbeb20e76c36dbc98dc8bf2146d1df317b7b6636b91", number: 0 },
        system_config: {
          batcherAddress: "0xc122b4d47644bbd7a98e41dd242d20054a11f720",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000f4240", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x923b28e0037a799a1e60368e60c92dffba982162",
        SystemConfigProxy: "0x5c72ce6ea707037bc476da8f4f969bc1f8abc78b",
      },
    },
    "sepolia/race": {
      name: "RACE Testnet", chain_id: 6806, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000006806",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1749686400, granite_time: 1749686400, holocene_time: 1749772800,
        pectra_blob_schedule_time: 1742486400,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1719646560, l1: { hash: "0x28dd1dd74080560ef0b02f8f1ae31d1be75b01a70a5be6ef22e673cec538770f", number: 6210400 },
        l2: { hash: "0x994d67464c3368b8eb6f9770087399486b25d721a1868b95bb37de327b49ab89", number: 0 },
        system_config: {
          batcherAddress: "0x584d61a30c7ef1e8d547ee02099dadc487f49889",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xf2891fc6819cdd6bd9221874619bb03a6277d72a",
        SystemConfigProxy: "0x07e7a3f25aa73da15bc19b71fef8f5511342a409",
      },
    },
    "sepolia/radius_testnet": {
      name: "Radius testnet", chain_id: 863, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0x005585b57b62c1eae08e995af66746cea56eb9e4",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1743250684, l1: { hash: "0xb4a93e1692ed6fcd3e196325471f653ff11ea4afb9618bf9ddc19d8d69d748be", number: 8090957 },
        l2: { hash: "0x5ef69a0280793403064cafbb45a27371eb72baccb997e79bb7041785ecb6a799", number: 0 },
        system_config: {
          batcherAddress: "0xe58318a4bf1a27ab2f3dd0433e27d81c8caaf04f",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x86897210aad2861aa603937762ac7c1e6dfa9727",
        SystemConfigProxy: "0x59b71c0a919bc1e8dae5488a562215494f1257fe",
      },
    },
    "sepolia/settlus-sepolia": {
      name: "Settlus Sepolia", chain_id: 5373, block_time: 1, seq_window_size: 3600, max_sequencer_drift: 1800,
      data_availability_type: "eth-da", batch_inbox_addr: "0x00b18c246d9b94634a54dcc2a2d258a048ab2227",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 0 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1736459256, l1: { hash: "0xd8c9f415fe06484e7713d1e08144a4d1b37e064813b6f3ca45c9d9a29a1f13db", number: 7456555 },
        l2: { hash: "0xa055eed3718c2ed1f04692c707b7045a804505b5e5184a37143514ba9d14281e", number: 0 },
        system_config: {
          batcherAddress: "0x26a1babee918f55bfddb002066c63678147b03a2",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 60000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x55585368857dcc7e0f89475d28963977db0b1ee1",
        SystemConfigProxy: "0x7f73514a7ec19f3f51e3c607d536560818df4205",
      },
    },
    "sepolia/shape": {
      name: "Shape Sepolia Testnet", chain_id: 11011, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 1800,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000011011",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1721732400, granite_time: 1727197200 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1718936160, l1: { hash: "0x0e1156bae935f43af44f8d3e011275b8aeab57acd83cbd71d92903d3c9b29cf3", number: 6151675 },
        l2: { hash: "0xcb3558db049390808cbde6b82a48d06ed98d3fe959e088ac20ae56174595cfce", number: 0 },
        system_config: {
          batcherAddress: "0x6ff556fa7cafec55ae77c5c1d58a010be75f9991",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xff8ca2b4d8122e41441f7ccdcf61b8692198bd1e",
        SystemConfigProxy: "0xa1ac91ed91ebe40e00d61e233c8026318b4da5fb",
      },
    },
    "sepolia/soneium-minato": {
      name: "Soneium Testnet Minato", chain_id: 1946, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 1800,
      data_availability_type: "eth-da", batch_inbox_addr: "0x00ca81e019a5312d404ae7fe8367d30de4c11365",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1730106000, granite_time: 1730106000, holocene_time: 1734685200,
        pectra_blob_schedule_time: 1742486400, isthmus_time: 1744905600, jovian_time: 1763568001, karst_time: 1781712001,
        keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1723194336, l1: { hash: "0x87e648e8d219737526cbcbc03dc914256d4f8e13ae13dc0a2ad377d831cd6473", number: 6465975 },
        l2: { hash: "0x7ec49d93fa8f47c00e98cc5965cd3903a8faa9238743d2eba0e0550ab4c45c43", number: 0 },
        system_config: {
          batcherAddress: "0xf0ab0441c8f4b89b561ae685b98c6ad5175e0cab",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x65ea1489741a5d72ffdd8e6485b216bbdcc15af3",
        SystemConfigProxy: "0x4ca9608fef202216bc21d543798ec854539baad3",
      },
    },
    "sepolia/tbn": {
      name: "Binary Sepolia", chain_id: 625, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000042069",
      gas_paying_token: "0x46d878bf7bf62ec542953cb89ac0bf58d991181e",
      hardforks: { canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1723204838, granite_time: 1723545055 },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1718195040, l1: { hash: "0x8d457519705ad17cf812d7cd4cfe5726eca8249f9e5f40a1d19992b07c2521ce", number: 6092340 },
        l2: { hash: "0xf1c38d92222758e1ea0c9c7ae1f7f2dfd0e3e747609f1c2d5a41ecfc5e84aba9", number: 0 },
        system_config: {
          batcherAddress: "0x9cf89f8cb7cc94c579426f967d9517cd2e9adf29",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000c5fc500000558", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xfbed910ca54f013bfea67bd4dc836263bdd0b46c",
        SystemConfigProxy: "0x1a6d0312faaaca2bf818660f164450176c6205c9",
      },
    },
    "sepolia/unichain": {
      name: "Unichain Sepolia Testnet", chain_id: 1301, block_time: 1, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000001301",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 0, granite_time: 0, holocene_time: 1734559200,
        pectra_blob_schedule_time: 1742486400, isthmus_time: 1744905600, jovian_time: 1763568001, karst_time: 1781712001,
        keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1726852428, l1: { hash: "0x81719966c43c08d616a832331500633db68006f5e8c0b575a6faf1704ad350c0", number: 6728364 },
        l2: { hash: "0xb7fe0bc9f98ca03294ca0094ff9374cc3e64130b6ec85850d6e260191f48bfe7", number: 0 },
        system_config: {
          batcherAddress: "0x4ab3387810ef500bfe05a49dc53a44c222cbab3e",
          overhead: "0x0000000000000000000000000000000000000000000000000000000000000000",
          scalar: "0x010000000000000000000000000000000000000000000000000dbba0000007d0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0x0d83dab629f0e0f9d36c0cbc89b69a489f0751bd",
        SystemConfigProxy: "0xaee94b9ab7752d3f7704bde212c0c6a0b701571d",
      },
    },
    "sepolia/worldchain": {
      name: "World Chain Sepolia Testnet", chain_id: 4801, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 1800,
      data_availability_type: "eth-da", batch_inbox_addr: "0xff00000000000000000000000000000000484752",
      hardforks: {
        canyon_time: 0, delta_time: 0, ecotone_time: 0, fjord_time: 1721739600, granite_time: 1726570800, holocene_time: 1737633600,
        pectra_blob_schedule_time: 1742486400, isthmus_time: 1761825600, jovian_time: 1777161600, karst_time: 1788868800,
      },
      optimism: { eip1559_elasticity: 10, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1720547424, l1: { hash: "0xd220bbdf24df6d1611f4ece1d08c64feae914ce6299ab2806c864e30a5289201", number: 6278018 },
        l2: { hash: "0xf1deb67ee953f94d8545d2647918687fa8ba1f30fa6103771f11b7c483984070", number: 0 },
        system_config: {
          batcherAddress: "0x0f3ff4731d7a10b89ed79ad1fd97844d7f66b96d",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 100000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xff6eba109271fe6d4237eeed4bab1dd9a77dd1a4",
        SystemConfigProxy: "0x166f9406e79a656f12f05247fb8f5dfa6155bcbf",
      },
    },
    "sepolia/zora": {
      name: "Zora Sepolia Testnet", chain_id: 999999999, block_time: 2, seq_window_size: 3600, max_sequencer_drift: 600,
      data_availability_type: "eth-da", batch_inbox_addr: "0xcd734290e4bd0200dac631c7d4b9e8a33234e91f",
      hardforks: {
        canyon_time: 1699981200, delta_time: 1703203200, ecotone_time: 1708534800, fjord_time: 1716998400, granite_time: 1723478400,
        holocene_time: 1732633200, pectra_blob_schedule_time: 1742486400, isthmus_time: 1744905600, jovian_time: 1763568001,
        karst_time: 1781712001, keep_karst_upgrade_gas: true,
      },
      optimism: { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 },
      genesis: {
        l2_time: 1698080004, l1: { hash: "0xf782446a2487d900addb5d466a8597c7c543b59fa9aaa154d413830238f8798a", number: 4548041 },
        l2: { hash: "0x8b17d2d52564a5a90079d9c860e1386272579e87b17ea27a3868513f53facd74", number: 0 },
        system_config: {
          batcherAddress: "0x3cd868e221a3be64b161d596a7482257a99d857f",
          overhead: "0x00000000000000000000000000000000000000000000000000000000000000bc",
          scalar: "0x00000000000000000000000000000000000000000000000000000000000a6fe0", gasLimit: 30000000,
        },
      },
      addresses: {
        OptimismPortalProxy: "0xeffe2c6ca9ab797d418f0d91ea60807713f3536f",
        SystemConfigProxy: "0xb54c7bfc223058773cf9b739cc5bd4095184fb08",
      },
    },
  },
  removed: {
    "mainnet/automata": "Automata Mainnet", "mainnet/lisk": "Lisk", "mainnet/mint": "Mint Mainnet",
    "mainnet/polynomial": "Polynomial", "mainnet/redstone": "Redstone", "mainnet/sseed": "Superseed",
    "mainnet/xterio-eth": "Xterio Chain (ETH)", "sepolia/lisk": "Lisk Sepolia Testnet",
  },
};
