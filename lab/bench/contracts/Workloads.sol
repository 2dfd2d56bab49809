// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// Workloads of `npm run bench -- evm`. Each has `run(n)`, which does n rounds and returns the gas they took and a checksum.

/// Additions, multiplications, comparisons and shifts on full words, as compiled code does them.
contract Arithmetic {
    function run(uint256 n) external view returns (uint256 used, uint256 checksum) {
        used = gasleft();
        uint256 a = 0x9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95;
        uint256 b = 1;
        unchecked {
            for (uint256 i = 0; i < n; i++) {
                b = b * a + i;
                a ^= b >> 7;
                if (a > b) b += a;
                a = (a << 3) | (a >> 253);
            }
        }
        checksum = a ^ b;
        used -= gasleft();
    }
}

/// A plain ERC-20, as most of them are compiled: checked arithmetic, mappings, events.
contract Token {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    function move(address from, address to, uint256 value) private {
        require(to != address(0), "transfer to nobody");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}

/// Transfers among 200 holders through another contract's interface.
contract Erc20 {
    Token private constant TOKEN = Token(address(0x70cE));

    function run(uint256 n) external returns (uint256 used, uint256 checksum) {
        used = gasleft();
        TOKEN.mint(address(this), type(uint128).max);
        TOKEN.approve(address(this), type(uint256).max);
        for (uint256 i = 0; i < n; i++) {
            address to = address(uint160(0x10000 + (i % 200)));
            if (i % 4 == 3) require(TOKEN.transferFrom(address(this), to, i));
            else require(TOKEN.transfer(to, 1 + (i & 7)));
        }
        checksum = TOKEN.balanceOf(address(0x10003));
        used -= gasleft();
    }
}

/// Escape times of a grid of the Mandelbrot set in fixed-point numbers of 18 decimals: signed, checked, with divisions.
contract FixedPoint {
    int256 private constant ONE = 1e18;
    int256 private constant SIDE = 6;

    function run(uint256 n) external view returns (uint256 used, uint256 checksum) {
        used = gasleft();
        for (uint256 round = 0; round < n; round++) {
            int256 shift = int256(round % 64) * 1e15;
            for (int256 row = 0; row < SIDE; row++) {
                for (int256 column = 0; column < SIDE; column++) {
                    int256 re = (column * 3 * ONE) / SIDE - 2 * ONE + shift;
                    int256 im = (row * 2 * ONE) / SIDE - ONE;
                    checksum = checksum * 33 % 1e30 + escapeTime(re, im);
                }
            }
        }
        used -= gasleft();
    }

    function escapeTime(int256 re, int256 im) private pure returns (uint256 steps) {
        int256 x;
        int256 y;
        for (; steps < 40; steps++) {
            int256 xx = (x * x) / ONE;
            int256 yy = (y * y) / ONE;
            if (xx + yy > 4 * ONE) return steps;
            y = (2 * x * y) / ONE + im;
            x = xx - yy + re;
        }
    }
}

/// Hashes of two words, as for mapping slots and Merkle paths.
contract Keccak {
    function run(uint256 n) external view returns (uint256 used, uint256 checksum) {
        used = gasleft();
        bytes32 node;
        for (uint256 i = 0; i < n; i++) {
            assembly ("memory-safe") {
                mstore(0x00, node)
                mstore(0x20, i)
                node := keccak256(0x00, 0x40)
            }
        }
        checksum = uint256(node);
        used -= gasleft();
    }
}

/// Fills an array in memory, sorts it by shell sort, folds it; bounds-checked.
contract Memory {
    uint256 private constant SIZE = 200;

    function run(uint256 n) external view returns (uint256 used, uint256 checksum) {
        used = gasleft();
        uint256[] memory items = new uint256[](SIZE);
        for (uint256 round = 0; round < n; round++) {
            uint256 random = round + 12345;
            for (uint256 i = 0; i < SIZE; i++) {
                unchecked {
                    random = random * 6364136223846793005 + 1442695040888963407;
                }
                items[i] = (random >> 33) & 0xffff;
            }
            for (uint256 gap = SIZE / 2; gap > 0; gap /= 2) {
                for (uint256 i = gap; i < SIZE; i++) {
                    uint256 item = items[i];
                    uint256 j = i;
                    while (j >= gap && items[j - gap] > item) {
                        items[j] = items[j - gap];
                        j -= gap;
                    }
                    items[j] = item;
                }
            }
            checksum = (checksum << 1) ^ items[round % SIZE] ^ items[SIZE - 1];
        }
        used -= gasleft();
    }
}
