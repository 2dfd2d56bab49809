// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import { FastLz } from "./FastLz.sol";

interface IL1Block {
    function basefee() external view returns (uint256);
    function blobBaseFee() external view returns (uint256);
    function baseFeeScalar() external view returns (uint32);
    function blobBaseFeeScalar() external view returns (uint32);
    function l1FeeOverhead() external view returns (uint256);
    function l1FeeScalar() external view returns (uint256);
    function operatorFeeScalar() external view returns (uint32);
    function operatorFeeConstant() external view returns (uint64);
    function DEPOSITOR_ACCOUNT() external view returns (address);
}

/// What a transaction costs on top of its L2 gas, by the formulas of the active fork. Predeploy 0x4200…000F.
contract GasPriceOracle {
    uint256 public constant DECIMALS = 6;

    IL1Block private constant L1_BLOCK = IL1Block(0x4200000000000000000000000000000000000015);
    /// Signature bytes that an unsigned transaction still lacks.
    uint256 private constant SIGNATURE_BYTES = 68;
    /// Fjord's linear regression, scaled by 10^6.
    int256 private constant COST_INTERCEPT = -42_585_600;
    uint256 private constant COST_FASTLZ_COEFFICIENT = 836_500;
    uint256 private constant MIN_TRANSACTION_SIZE = 100;

    bool public isEcotone;
    bool public isFjord;
    bool public isIsthmus;
    bool public isJovian;

    error NotDepositor();
    error ForkOrder(string problem);
    error Deprecated(string replacement);
    error FjordNotActive();

    modifier onlyDepositor() {
        if (msg.sender != L1_BLOCK.DEPOSITOR_ACCOUNT()) revert NotDepositor();
        _;
    }

    function version() external pure returns (string memory) {
        return "1.6.0+rnode";
    }

    function setEcotone() external onlyDepositor {
        if (isEcotone) revert ForkOrder("Ecotone is already active");
        isEcotone = true;
    }

    function setFjord() external onlyDepositor {
        if (!isEcotone || isFjord) revert ForkOrder("Fjord follows Ecotone, once");
        isFjord = true;
    }

    function setIsthmus() external onlyDepositor {
        if (!isFjord || isIsthmus) revert ForkOrder("Isthmus follows Fjord, once");
        isIsthmus = true;
    }

    function setJovian() external onlyDepositor {
        if (!isIsthmus || isJovian) revert ForkOrder("Jovian follows Isthmus, once");
        isJovian = true;
    }

    function gasPrice() external view returns (uint256) {
        return block.basefee;
    }

    function baseFee() external view returns (uint256) {
        return block.basefee;
    }

    function decimals() external pure returns (uint256) {
        return DECIMALS;
    }

    function l1BaseFee() public view returns (uint256) {
        return L1_BLOCK.basefee();
    }

    function blobBaseFee() public view returns (uint256) {
        return L1_BLOCK.blobBaseFee();
    }

    function baseFeeScalar() public view returns (uint32) {
        return L1_BLOCK.baseFeeScalar();
    }

    function blobBaseFeeScalar() public view returns (uint32) {
        return L1_BLOCK.blobBaseFeeScalar();
    }

    function overhead() external view returns (uint256) {
        if (isEcotone) revert Deprecated("baseFeeScalar");
        return L1_BLOCK.l1FeeOverhead();
    }

    function scalar() external view returns (uint256) {
        if (isEcotone) revert Deprecated("baseFeeScalar");
        return L1_BLOCK.l1FeeScalar();
    }

    /// L1 fee in wei of an unsigned, RLP-encoded transaction.
    function getL1Fee(bytes memory unsignedTx) external view returns (uint256) {
        if (isFjord) return _fjordFee(FastLz.compressedLength(unsignedTx) + SIGNATURE_BYTES);
        uint256 gasUsed = _calldataGas(unsignedTx);
        if (isEcotone) return (gasUsed * _weightedBaseFee()) / (16 * 10 ** DECIMALS);
        return ((gasUsed + L1_BLOCK.l1FeeOverhead()) * l1BaseFee() * L1_BLOCK.l1FeeScalar()) / 10 ** DECIMALS;
    }

    /// An upper bound of the L1 fee in wei of any unsigned transaction of this size.
    function getL1FeeUpperBound(uint256 unsignedTxSize) external view returns (uint256) {
        if (!isFjord) revert FjordNotActive();
        uint256 size = unsignedTxSize + SIGNATURE_BYTES;
        // what FastLZ makes of incompressible data at worst
        return _fjordFee(size + size / 255 + 16);
    }

    /// L1 gas that the unsigned, RLP-encoded transaction counts for.
    function getL1GasUsed(bytes memory unsignedTx) external view returns (uint256) {
        if (isFjord) {
            return (_estimatedSize(FastLz.compressedLength(unsignedTx) + SIGNATURE_BYTES) * 16) / 10 ** DECIMALS;
        }
        uint256 gasUsed = _calldataGas(unsignedTx);
        return isEcotone ? gasUsed : gasUsed + L1_BLOCK.l1FeeOverhead();
    }

    /// Operator fee in wei of a transaction that uses this much gas.
    function getOperatorFee(uint256 gasUsed) external view returns (uint256) {
        if (!isIsthmus) return 0;
        uint256 product = _saturatingMul(gasUsed, L1_BLOCK.operatorFeeScalar());
        uint256 variable = isJovian ? _saturatingMul(product, 100) : product / 10 ** DECIMALS;
        return _saturatingAdd(variable, L1_BLOCK.operatorFeeConstant());
    }

    /// `size` is a FastLZ length, signature included.
    function _fjordFee(uint256 size) private view returns (uint256) {
        return (_estimatedSize(size) * _weightedBaseFee()) / 10 ** (2 * DECIMALS);
    }

    function _weightedBaseFee() private view returns (uint256) {
        return 16 * uint256(baseFeeScalar()) * l1BaseFee() + uint256(blobBaseFeeScalar()) * blobBaseFee();
    }

    function _estimatedSize(uint256 size) private pure returns (uint256) {
        int256 estimate = COST_INTERCEPT + int256(COST_FASTLZ_COEFFICIENT * size);
        int256 minimum = int256(MIN_TRANSACTION_SIZE * 10 ** DECIMALS);
        return uint256(estimate < minimum ? minimum : estimate);
    }

    function _calldataGas(bytes memory data) private pure returns (uint256 gasUsed) {
        for (uint256 i = 0; i < data.length; ++i) gasUsed += data[i] == 0 ? 4 : 16;
        gasUsed += SIGNATURE_BYTES * 16;
    }

    function _saturatingMul(uint256 a, uint256 b) private pure returns (uint256) {
        unchecked {
            uint256 product = a * b;
            return a == 0 || product / a == b ? product : type(uint256).max;
        }
    }

    function _saturatingAdd(uint256 a, uint256 b) private pure returns (uint256) {
        unchecked {
            uint256 sum = a + b;
            return sum >= a ? sum : type(uint256).max;
        }
    }
}
