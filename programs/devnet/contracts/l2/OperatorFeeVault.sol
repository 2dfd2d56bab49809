// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IMessagePasser {
    function initiateWithdrawal(address target, uint256 gasLimit, bytes memory data) external payable;
}

/// Where the operator fee of every transaction goes. Predeploy 0x4200…001B; like the other fee vaults it pays out to one fixed
/// recipient, on L1 or on L2, once enough has come together.
contract OperatorFeeVault {
    enum WithdrawalNetwork {
        L1,
        L2
    }

    IMessagePasser private constant MESSAGE_PASSER = IMessagePasser(0x4200000000000000000000000000000000000016);
    uint256 private constant WITHDRAWAL_MIN_GAS = 400_000;

    address public immutable RECIPIENT;
    uint256 public immutable MIN_WITHDRAWAL_AMOUNT;
    WithdrawalNetwork public immutable WITHDRAWAL_NETWORK;

    uint256 public totalProcessed;

    event Withdrawal(uint256 value, address to, address from);
    event Withdrawal(uint256 value, address to, address from, WithdrawalNetwork withdrawalNetwork);

    error BelowMinimum(uint256 balance, uint256 minimum);
    error TransferFailed();

    constructor(address recipient_, uint256 minWithdrawalAmount_, WithdrawalNetwork withdrawalNetwork_) {
        RECIPIENT = recipient_;
        MIN_WITHDRAWAL_AMOUNT = minWithdrawalAmount_;
        WITHDRAWAL_NETWORK = withdrawalNetwork_;
    }

    receive() external payable { }

    function version() external pure returns (string memory) {
        return "1.1.0+rnode";
    }

    function recipient() external view returns (address) {
        return RECIPIENT;
    }

    function minWithdrawalAmount() external view returns (uint256) {
        return MIN_WITHDRAWAL_AMOUNT;
    }

    function withdrawalNetwork() external view returns (WithdrawalNetwork) {
        return WITHDRAWAL_NETWORK;
    }

    function withdraw() external returns (uint256 value) {
        value = address(this).balance;
        if (value < MIN_WITHDRAWAL_AMOUNT) revert BelowMinimum(value, MIN_WITHDRAWAL_AMOUNT);
        totalProcessed += value;
        emit Withdrawal(value, RECIPIENT, msg.sender);
        emit Withdrawal(value, RECIPIENT, msg.sender, WITHDRAWAL_NETWORK);
        if (WITHDRAWAL_NETWORK == WithdrawalNetwork.L2) {
            (bool success,) = RECIPIENT.call{ value: value }("");
            if (!success) revert TransferFailed();
        } else {
            MESSAGE_PASSER.initiateWithdrawal{ value: value }(RECIPIENT, WITHDRAWAL_MIN_GAS, "");
        }
    }
}
