// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// What a DisputeGameFactory and a proposer see of a game of super roots (types 5 and 9): the claim is the hash of the extra data, which
/// is a marshalled super root, and the sequence number is its time. Nobody can dispute it. Games are clones with their arguments
/// behind the calldata: creator 20 ‖ root claim 32 ‖ parent hash 32 ‖ extra data ‖ length of all of it with itself 2.
contract SuperGame {
    error BadExtraData();

    function initialize() external payable {
        if (keccak256(extraData()) != rootClaim()) revert BadExtraData();
    }

    function gameCreator() external pure returns (address) {
        return address(bytes20(arguments()[:20]));
    }

    function rootClaim() public pure returns (bytes32) {
        return bytes32(arguments()[20:52]);
    }

    function extraData() public pure returns (bytes memory) {
        return arguments()[84:];
    }

    /// version 1 ‖ time u64 ‖ chains
    function l2SequenceNumber() external pure returns (uint256) {
        return uint64(bytes8(arguments()[85:93]));
    }

    function arguments() private pure returns (bytes calldata data) {
        assembly ("memory-safe") {
            let length := shr(240, calldataload(sub(calldatasize(), 2)))
            data.offset := sub(calldatasize(), length)
            data.length := sub(length, 2)
        }
    }
}
