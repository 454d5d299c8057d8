"""What calls cost, before they are made and after."""

from simulator.running.money.money import FREE, Money, Price, check_budget

__all__ = ["FREE", "Money", "Price", "check_budget"]
