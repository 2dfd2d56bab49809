// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The rollup's parameters on L1. Every change emits `ConfigUpdate`, which the rollup node applies when it derives the L1 block.
/// Names and encodings are those of the upstream contract, with all update types up to Jovian.
contract SystemConfig {
    enum UpdateType {
        BATCHER,
        FEE_SCALARS,
        GAS_LIMIT,
        UNSAFE_BLOCK_SIGNER,
        EIP_1559_PARAMS,
        OPERATOR_FEE_PARAMS,
        MIN_BASE_FEE,
        DA_FOOTPRINT_GAS_SCALAR
    }

    /// The deposit fee market, read by the portal.
    struct ResourceConfig {
        uint32 maxResourceLimit;
        uint8 elasticityMultiplier;
        uint8 baseFeeMaxChangeDenominator;
        uint32 minimumBaseFee;
        uint32 systemTxMaxGas;
        uint128 maximumBaseFee;
    }

    struct Addresses {
        address l1CrossDomainMessenger;
        address l1ERC721Bridge;
        address l1StandardBridge;
        address optimismPortal;
        address optimismMintableERC20Factory;
    }

    /// What the first block of the chain is configured with.
    struct Parameters {
        bytes32 batcherHash;
        uint32 basefeeScalar;
        uint32 blobbasefeeScalar;
        uint64 gasLimit;
        address unsafeBlockSigner;
        uint32 eip1559Denominator;
        uint32 eip1559Elasticity;
        uint64 minBaseFee;
        uint16 daFootprintGasScalar;
        address batchInbox;
        uint256 l2ChainId;
    }

    uint256 public constant VERSION = 0;
    /// Read by rollup nodes with a storage proof.
    bytes32 public constant UNSAFE_BLOCK_SIGNER_SLOT = keccak256("systemconfig.unsafeblocksigner");
    bytes32 public constant BATCH_INBOX_SLOT = bytes32(uint256(keccak256("systemconfig.batchinbox")) - 1);
    bytes32 public constant START_BLOCK_SLOT = bytes32(uint256(keccak256("systemconfig.startBlock")) - 1);

    uint64 private constant MAX_GAS_LIMIT = 500_000_000;
    address private constant ETHER = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;

    bool public initialized;
    address public owner;
    uint256 public overhead;
    uint256 public scalar;
    bytes32 public batcherHash;
    uint64 public gasLimit;
    uint32 public basefeeScalar;
    uint32 public blobbasefeeScalar;
    uint32 public eip1559Denominator;
    uint32 public eip1559Elasticity;
    uint32 public operatorFeeScalar;
    uint64 public operatorFeeConstant;
    uint64 public minBaseFee;
    uint16 public daFootprintGasScalar;
    uint256 public l2ChainId;
    ResourceConfig internal _resourceConfig;
    Addresses internal _addresses;

    event ConfigUpdate(uint256 indexed version, UpdateType indexed updateType, bytes data);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    error AlreadyInitialized();
    error NotOwner();
    error OutOfRange(string parameter);

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner();
        _;
    }

    /// The implementation behind the proxy stays locked.
    constructor() {
        initialized = true;
    }

    function initialize(
        address owner_,
        Parameters calldata parameters,
        ResourceConfig calldata resourceConfig_,
        Addresses calldata addresses_
    ) external {
        if (initialized) revert AlreadyInitialized();
        initialized = true;
        owner = owner_;
        emit OwnershipTransferred(address(0), owner_);

        l2ChainId = parameters.l2ChainId;
        _resourceConfig = resourceConfig_;
        _addresses = addresses_;
        _store(BATCH_INBOX_SLOT, uint160(parameters.batchInbox));
        _store(START_BLOCK_SLOT, block.number);

        _setBatcherHash(parameters.batcherHash);
        _setGasConfigEcotone(parameters.basefeeScalar, parameters.blobbasefeeScalar);
        _setGasLimit(parameters.gasLimit);
        _setUnsafeBlockSigner(parameters.unsafeBlockSigner);
        // Zero leaves the chain's constants in force: nothing to announce.
        if (parameters.eip1559Denominator != 0) {
            _setEIP1559Params(parameters.eip1559Denominator, parameters.eip1559Elasticity);
        }
        if (parameters.minBaseFee != 0) _setMinBaseFee(parameters.minBaseFee);
        if (parameters.daFootprintGasScalar != 0) _setDAFootprintGasScalar(parameters.daFootprintGasScalar);
    }

    function version() external pure returns (string memory) {
        return "3.11.0+rnode";
    }

    // ---- setters ----

    function transferOwnership(address newOwner) external onlyOwner {
        if (newOwner == address(0)) revert OutOfRange("newOwner");
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
    }

    function setBatcherHash(bytes32 batcherHash_) external onlyOwner {
        _setBatcherHash(batcherHash_);
    }

    function setBatcherHash(address batcher) external onlyOwner {
        _setBatcherHash(bytes32(uint256(uint160(batcher))));
    }

    /// The form before Ecotone.
    function setGasConfig(uint256 overhead_, uint256 scalar_) external onlyOwner {
        if (uint8(bytes32(scalar_)[0]) != 0) revert OutOfRange("scalar");
        overhead = overhead_;
        scalar = scalar_;
        emit ConfigUpdate(VERSION, UpdateType.FEE_SCALARS, abi.encode(overhead_, scalar_));
    }

    function setGasConfigEcotone(uint32 basefeeScalar_, uint32 blobbasefeeScalar_) external onlyOwner {
        _setGasConfigEcotone(basefeeScalar_, blobbasefeeScalar_);
    }

    function setGasLimit(uint64 gasLimit_) external onlyOwner {
        _setGasLimit(gasLimit_);
    }

    function setUnsafeBlockSigner(address signer) external onlyOwner {
        _setUnsafeBlockSigner(signer);
    }

    function setEIP1559Params(uint32 denominator, uint32 elasticity) external onlyOwner {
        _setEIP1559Params(denominator, elasticity);
    }

    function setOperatorFeeScalars(uint32 operatorFeeScalar_, uint64 operatorFeeConstant_) external onlyOwner {
        operatorFeeScalar = operatorFeeScalar_;
        operatorFeeConstant = operatorFeeConstant_;
        uint256 packed = (uint256(operatorFeeScalar_) << 64) | operatorFeeConstant_;
        emit ConfigUpdate(VERSION, UpdateType.OPERATOR_FEE_PARAMS, abi.encode(packed));
    }

    function setMinBaseFee(uint64 minBaseFee_) external onlyOwner {
        _setMinBaseFee(minBaseFee_);
    }

    function setDAFootprintGasScalar(uint16 daFootprintGasScalar_) external onlyOwner {
        _setDAFootprintGasScalar(daFootprintGasScalar_);
    }

    // ---- getters ----

    function minimumGasLimit() public view returns (uint64) {
        return uint64(_resourceConfig.maxResourceLimit) + uint64(_resourceConfig.systemTxMaxGas);
    }

    function maximumGasLimit() public pure returns (uint64) {
        return MAX_GAS_LIMIT;
    }

    function resourceConfig() external view returns (ResourceConfig memory) {
        return _resourceConfig;
    }

    function getAddresses() external view returns (Addresses memory) {
        return _addresses;
    }

    function l1CrossDomainMessenger() external view returns (address) {
        return _addresses.l1CrossDomainMessenger;
    }

    function l1ERC721Bridge() external view returns (address) {
        return _addresses.l1ERC721Bridge;
    }

    function l1StandardBridge() external view returns (address) {
        return _addresses.l1StandardBridge;
    }

    function optimismPortal() external view returns (address) {
        return _addresses.optimismPortal;
    }

    function optimismMintableERC20Factory() external view returns (address) {
        return _addresses.optimismMintableERC20Factory;
    }

    function unsafeBlockSigner() external view returns (address) {
        return address(uint160(_load(UNSAFE_BLOCK_SIGNER_SLOT)));
    }

    function batchInbox() external view returns (address) {
        return address(uint160(_load(BATCH_INBOX_SLOT)));
    }

    function startBlock() external view returns (uint256) {
        return _load(START_BLOCK_SLOT);
    }

    // The portal and bridges of this release ask which asset pays for gas: always ether here.

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

    // ---- updates ----

    function _setBatcherHash(bytes32 batcherHash_) private {
        // derivation refuses an address word with anything in its high bytes
        if (uint256(batcherHash_) >> 160 != 0) revert OutOfRange("batcherHash");
        batcherHash = batcherHash_;
        emit ConfigUpdate(VERSION, UpdateType.BATCHER, abi.encode(batcherHash_));
    }

    function _setGasConfigEcotone(uint32 basefeeScalar_, uint32 blobbasefeeScalar_) private {
        basefeeScalar = basefeeScalar_;
        blobbasefeeScalar = blobbasefeeScalar_;
        // version 1 in the first byte, the two scalars in the last eight
        scalar = (uint256(1) << 248) | (uint256(blobbasefeeScalar_) << 32) | basefeeScalar_;
        emit ConfigUpdate(VERSION, UpdateType.FEE_SCALARS, abi.encode(overhead, scalar));
    }

    function _setGasLimit(uint64 gasLimit_) private {
        if (gasLimit_ < minimumGasLimit() || gasLimit_ > MAX_GAS_LIMIT) revert OutOfRange("gasLimit");
        gasLimit = gasLimit_;
        emit ConfigUpdate(VERSION, UpdateType.GAS_LIMIT, abi.encode(gasLimit_));
    }

    function _setUnsafeBlockSigner(address signer) private {
        _store(UNSAFE_BLOCK_SIGNER_SLOT, uint160(signer));
        emit ConfigUpdate(VERSION, UpdateType.UNSAFE_BLOCK_SIGNER, abi.encode(signer));
    }

    function _setEIP1559Params(uint32 denominator, uint32 elasticity) private {
        if (denominator == 0) revert OutOfRange("denominator");
        if (elasticity == 0) revert OutOfRange("elasticity");
        eip1559Denominator = denominator;
        eip1559Elasticity = elasticity;
        uint256 packed = (uint256(denominator) << 32) | elasticity;
        emit ConfigUpdate(VERSION, UpdateType.EIP_1559_PARAMS, abi.encode(packed));
    }

    function _setMinBaseFee(uint64 minBaseFee_) private {
        minBaseFee = minBaseFee_;
        emit ConfigUpdate(VERSION, UpdateType.MIN_BASE_FEE, abi.encode(minBaseFee_));
    }

    function _setDAFootprintGasScalar(uint16 daFootprintGasScalar_) private {
        daFootprintGasScalar = daFootprintGasScalar_;
        emit ConfigUpdate(VERSION, UpdateType.DA_FOOTPRINT_GAS_SCALAR, abi.encode(daFootprintGasScalar_));
    }

    function _load(bytes32 slot) private view returns (uint256 value) {
        assembly ("memory-safe") {
            value := sload(slot)
        }
    }

    function _store(bytes32 slot, uint256 value) private {
        assembly ("memory-safe") {
            sstore(slot, value)
        }
    }
}
