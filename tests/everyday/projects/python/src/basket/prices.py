def total(prices):
    """Returns the sum, rounded to cents."""
    return round(sum(prices), 2)
