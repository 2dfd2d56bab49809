// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import { FastLz } from "../l2/FastLz.sol";

/// Shows the oracle's count to tests.
contract FastLzProbe {
    function compressedLength(bytes memory data) external pure returns (uint256) {
        return FastLz.compressedLength(data);
    }
}
