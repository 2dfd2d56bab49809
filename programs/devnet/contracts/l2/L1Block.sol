// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The L2 view of L1: what the first deposit of each block wrote. Predeploy 0x4200…0015.
///
/// The storage layout is consensus: execution clients read the fee parameters from these slots.
///   0  number u64 (low), timestamp u64
///   1  base fee
///   2  block hash
///   3  sequence number u64 (low), blobBaseFeeScalar u32, baseFeeScalar u32
///   4  batcher hash
///   5  overhead, 6 scalar: before Ecotone
///   7  blob base fee
///   8  operatorFeeConstant u64 (low), operatorFeeScalar u32, daFootprintGasScalar u16
contract L1Block {
    uint64 public number;
    uint64 public timestamp;
    uint256 public basefee;
    bytes32 public hash;
    uint64 public sequenceNumber;
    uint32 public blobBaseFeeScalar;
    uint32 public baseFeeScalar;
    bytes32 public batcherHash;
    uint256 public l1FeeOverhead;
    uint256 public l1FeeScalar;
    uint256 public blobBaseFee;
    uint64 public operatorFeeConstant;
    uint32 public operatorFeeScalar;
    uint16 public daFootprintGasScalar;

    address internal constant DEPOSITOR = 0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001;
    address internal constant ETHER = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;

    error NotDepositor();
    error CalldataLength(uint256 expected, uint256 actual);

    modifier onlyDepositor() {
        if (msg.sender != DEPOSITOR) revert NotDepositor();
        _;
    }

    function version() external pure returns (string memory) {
        return "1.7.0+rnode";
    }

    function DEPOSITOR_ACCOUNT() external pure returns (address) {
        return DEPOSITOR;
    }

    // The bridges of this release ask which asset pays for gas: always ether here.

    function gasPayingToken() external pure returns (address addr_, uint8 decimals_) {
        return (ETHER, 18);
    }

    function gasPayingTokenName() external pure returns (string memory) {
        return "Ether";
    }

    function gasPayingTokenSymbol() external pure returns (string memory) {
        return "ETH";
    }

    function isCustomGasToken() external pure returns (bool) {
        return false;
    }

    /// Bedrock to Delta: ordinary ABI encoding.
    function setL1BlockValues(
        uint64 _number,
        uint64 _timestamp,
        uint256 _basefee,
        bytes32 _hash,
        uint64 _sequenceNumber,
        bytes32 _batcherHash,
        uint256 _l1FeeOverhead,
        uint256 _l1FeeScalar
    ) external onlyDepositor {
        number = _number;
        timestamp = _timestamp;
        basefee = _basefee;
        hash = _hash;
        sequenceNumber = _sequenceNumber;
        batcherHash = _batcherHash;
        l1FeeOverhead = _l1FeeOverhead;
        l1FeeScalar = _l1FeeScalar;
    }

    /// Ecotone to Holocene: 164 packed bytes.
    function setL1BlockValuesEcotone() external onlyDepositor {
        _expectLength(164);
        _setEcotone();
    }

    /// Isthmus: 176 packed bytes.
    function setL1BlockValuesIsthmus() external onlyDepositor {
        _expectLength(176);
        _setEcotone();
        _setOperatorFee();
    }

    /// Jovian: 178 packed bytes.
    function setL1BlockValuesJovian() external onlyDepositor {
        _expectLength(178);
        _setEcotone();
        _setOperatorFee();
        daFootprintGasScalar = uint16(bytes2(msg.data[176:178]));
    }

    function _setEcotone() private {
        baseFeeScalar = uint32(bytes4(msg.data[4:8]));
        blobBaseFeeScalar = uint32(bytes4(msg.data[8:12]));
        sequenceNumber = uint64(bytes8(msg.data[12:20]));
        timestamp = uint64(bytes8(msg.data[20:28]));
        number = uint64(bytes8(msg.data[28:36]));
        basefee = uint256(bytes32(msg.data[36:68]));
        blobBaseFee = uint256(bytes32(msg.data[68:100]));
        hash = bytes32(msg.data[100:132]);
        batcherHash = bytes32(msg.data[132:164]);
    }

    function _setOperatorFee() private {
        operatorFeeScalar = uint32(bytes4(msg.data[164:168]));
        operatorFeeConstant = uint64(bytes8(msg.data[168:176]));
    }

    function _expectLength(uint256 expected) private pure {
        if (msg.data.length != expected) revert CalldataLength(expected, msg.data.length);
    }
}
