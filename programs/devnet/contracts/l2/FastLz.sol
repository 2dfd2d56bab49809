// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The length that FastLZ level 1 would compress `data` to. It counts, it does not compress: consensus (Fjord's L1 cost) uses
/// only the length, and every client must count the same.
library FastLz {
    /// Positions by 13-bit hash of a 3-byte group, four bytes each.
    uint256 private constant TABLE_BYTES = 8192 * 4;
    uint256 private constant MAX_DISTANCE = 8191;

    function compressedLength(bytes memory data) internal pure returns (uint256 total) {
        uint256 length = data.length;
        uint256 limit = length < 13 ? 0 : length - 13;
        uint256 table = _newTable();
        uint256 base;
        assembly ("memory-safe") {
            base := add(data, 32)
        }

        uint256 anchor = 0;
        uint256 position = 2;
        unchecked {
            while (position < limit) {
                uint256 previous;
                bool stopped;
                while (true) {
                    uint256 group = _group(base, position);
                    uint256 slot = table + _hash(group) * 4;
                    previous = _load(slot);
                    _store(slot, position);
                    if (position >= limit) {
                        stopped = true;
                        break;
                    }
                    uint256 distance = position - previous;
                    ++position;
                    if (distance <= MAX_DISTANCE && _group(base, previous) == group) break;
                }
                if (stopped || position >= limit) break;
                --position;
                if (position > anchor) total += _literals(position - anchor);

                uint256 matched = _matchLength(base, previous + 3, position + 3, limit + 9);
                uint256 encoded = matched - 1;
                total += 3 * (encoded / 262) + (encoded % 262 >= 6 ? 3 : 2);

                position += matched;
                _store(table + _hash(_group(base, position)) * 4, position);
                ++position;
                _store(table + _hash(_group(base, position)) * 4, position);
                ++position;
                anchor = position;
            }
            total += _literals(length - anchor);
        }
    }

    /// Equal bytes at `left` and `right`, the first different one counted too, reading up to `end` (exclusive).
    function _matchLength(uint256 base, uint256 left, uint256 right, uint256 end) private pure returns (uint256 count) {
        unchecked {
            while (right < end) {
                ++count;
                if (_byte(base, left) != _byte(base, right)) return count;
                ++left;
                ++right;
            }
        }
    }

    /// Runs of up to 32 literals cost one byte more each.
    function _literals(uint256 count) private pure returns (uint256) {
        unchecked {
            uint256 rest = count % 32;
            return 33 * (count / 32) + (rest == 0 ? 0 : rest + 1);
        }
    }

    function _newTable() private pure returns (uint256 table) {
        assembly ("memory-safe") {
            table := mload(0x40)
            // a word more: the last entry is read as a whole word
            mstore(0x40, add(table, add(TABLE_BYTES, 32)))
            calldatacopy(table, calldatasize(), add(TABLE_BYTES, 32))
        }
    }

    /// Three bytes, little-endian.
    function _group(uint256 base, uint256 position) private pure returns (uint256 group) {
        assembly ("memory-safe") {
            let word := mload(add(base, position))
            group := or(or(byte(0, word), shl(8, byte(1, word))), shl(16, byte(2, word)))
        }
    }

    function _hash(uint256 group) private pure returns (uint256) {
        unchecked {
            return (((2654435769 * group) & 0xffffffff) >> 19) & 8191;
        }
    }

    function _byte(uint256 base, uint256 position) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := byte(0, mload(add(base, position)))
        }
    }

    function _load(uint256 slot) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shr(224, mload(slot))
        }
    }

    function _store(uint256 slot, uint256 value) private pure {
        assembly ("memory-safe") {
            mstore(slot, or(shl(224, value), and(mload(slot), sub(shl(224, 1), 1))))
        }
    }
}
