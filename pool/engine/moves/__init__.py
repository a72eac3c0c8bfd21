"""Moves: which running work to put elsewhere so that a refused job fits, and what that costs."""

from pool.engine.moves.carry import carry_out, taken_by
from pool.engine.moves.plan import plan_moves
from pool.engine.moves.types import Movable, Move, MovePlan, by_node

__all__ = ["Movable", "Move", "MovePlan", "by_node", "carry_out", "plan_moves", "taken_by"]
