// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A dispute game of the published release behind the name that newer tools ask by: `l2SequenceNumber()` is `l2BlockNumber()`.
/// Games are clones that delegate here with their arguments behind the calldata; everything is passed on as it came.
contract SequenceNumberGame {
    address private immutable GAME;

    bytes4 private constant L2_SEQUENCE_NUMBER = bytes4(keccak256("l2SequenceNumber()"));
    bytes4 private constant L2_BLOCK_NUMBER = bytes4(keccak256("l2BlockNumber()"));

    constructor(address game) {
        GAME = game;
    }

    fallback() external payable {
        if (msg.sig == L2_SEQUENCE_NUMBER) delegate(bytes.concat(L2_BLOCK_NUMBER, msg.data[4:]));
        delegate(msg.data);
    }

    function delegate(bytes memory data) private {
        address game = GAME;
        assembly ("memory-safe") {
            let success := delegatecall(gas(), game, add(data, 0x20), mload(data), 0, 0)
            let answer := mload(0x40)
            returndatacopy(answer, 0, returndatasize())
            switch success
            case 0 { revert(answer, returndatasize()) }
            default { return(answer, returndatasize()) }
        }
    }
}
