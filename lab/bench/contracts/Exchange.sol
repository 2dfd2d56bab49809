// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// A token whose balances are made in the genesis: slot 0 balances, slot 1 allowances.
contract Token {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    error TooLittle();

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < value) revert TooLittle();
        unchecked {
            allowance[from][msg.sender] = allowed - value;
        }
        _move(from, to, value);
        return true;
    }

    function _move(address from, address to, uint256 value) private {
        uint256 balance = balanceOf[from];
        if (balance < value) revert TooLittle();
        unchecked {
            balanceOf[from] = balance - value;
            balanceOf[to] += value;
        }
        emit Transfer(from, to, value);
    }
}

/// A pair with the constant product rule and 0.3 % of fee. Its fields are made in the genesis: slots 0 and 1 tokens, slot 2 both reserves.
contract Pair {
    Token public token0;
    Token public token1;
    uint112 public reserve0;
    uint112 public reserve1;
    uint32 public lastTime;
    uint256 public price0Cumulative;
    uint256 public price1Cumulative;

    event Swap(address indexed sender, uint256 in0, uint256 in1, uint256 out0, uint256 out1, address indexed to);
    event Sync(uint112 reserve0, uint112 reserve1);

    error NothingOut();
    error ProductFalls();

    /// Takes `amountIn` of one token from the sender and gives what the rule allows of the other.
    function swap(bool zeroForOne, uint256 amountIn) external returns (uint256 out) {
        (uint256 r0, uint256 r1) = (reserve0, reserve1);
        out = zeroForOne ? _amountOut(amountIn, r0, r1) : _amountOut(amountIn, r1, r0);
        if (out == 0) revert NothingOut();
        (Token tokenIn, Token tokenOut) = zeroForOne ? (token0, token1) : (token1, token0);
        tokenIn.transferFrom(msg.sender, address(this), amountIn);
        tokenOut.transfer(msg.sender, out);
        _settle(r0, r1, zeroForOne ? amountIn : 0, zeroForOne ? 0 : amountIn);
        if (zeroForOne) emit Swap(msg.sender, amountIn, 0, 0, out, msg.sender);
        else emit Swap(msg.sender, 0, amountIn, out, 0, msg.sender);
    }

    function _amountOut(uint256 amountIn, uint256 rIn, uint256 rOut) private pure returns (uint256) {
        uint256 withFee = amountIn * 997;
        return (withFee * rOut) / (rIn * 1000 + withFee);
    }

    function _settle(uint256 r0, uint256 r1, uint256 in0, uint256 in1) private {
        uint256 balance0 = token0.balanceOf(address(this));
        uint256 balance1 = token1.balanceOf(address(this));
        if ((balance0 * 1000 - in0 * 3) * (balance1 * 1000 - in1 * 3) < r0 * r1 * 1_000_000) revert ProductFalls();
        _update(balance0, balance1, r0, r1);
    }

    function _update(uint256 balance0, uint256 balance1, uint256 r0, uint256 r1) private {
        unchecked {
            uint32 elapsed = uint32(block.timestamp) - lastTime;
            if (elapsed > 0) {
                price0Cumulative += ((r1 << 112) / r0) * elapsed;
                price1Cumulative += ((r0 << 112) / r1) * elapsed;
            }
        }
        (reserve0, reserve1, lastTime) = (uint112(balance0), uint112(balance1), uint32(block.timestamp));
        emit Sync(reserve0, reserve1);
    }
}
