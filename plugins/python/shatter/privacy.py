"""Privacy accounting, as the built-in algorithms do it; in Go it is the package pipeline/privacy.

Neighboring samples differ by the replacement of one example. Results are accurate to about 11 digits, with rounding on
the safe side. Start with `gaussian_sigma` for noise and `share` for a budget that several mechanisms divide.
"""

from __future__ import annotations

import math
from typing import Callable

__all__ = [
    "compose", "epsilon_from_rho", "gaussian_delta", "gaussian_epsilon", "gaussian_mu", "gaussian_sigma",
    "optimal_delta", "rho_from_epsilon", "share", "subsampled",
]


def gaussian_sigma(sensitivity: float, rounds: int, epsilon: float, delta: float) -> float:
    """Return the least standard deviation per coordinate that makes rounds of Gaussian noise (epsilon, delta)-private.

    sensitivity is the largest Euclidean distance between the answers of one round on neighboring samples. The result is
    exact: rounds compose to Gaussian privacy with mu = sensitivity sqrt(rounds)/sigma (Dong, Roth and Su 2019).
    """
    return sensitivity * math.sqrt(rounds) / gaussian_mu(epsilon, delta)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the least delta at which mu-Gaussian privacy is (epsilon, delta)-privacy (Balle and Wang 2018, Theorem 8).

    It is Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), for mu > 0 and epsilon >= 0.
    """
    a, b = (epsilon / mu - mu / 2) / math.sqrt(2), (epsilon / mu + mu / 2) / math.sqrt(2)
    if a > 0:  # without the difference of two large numbers
        return math.exp(-a * a) * (_erfcx(a) - _erfcx(b)) / 2
    if epsilon < 1:
        return (math.erf(b) + math.erf(-a) - math.expm1(epsilon) * math.erfc(b)) / 2
    return (math.erfc(a) - math.exp(-a * a) * _erfcx(b)) / 2


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu at which mu-Gaussian privacy is (epsilon, delta)-privacy, for epsilon >= 0 and 0 < delta < 1."""
    high = math.sqrt(2 * rho_from_epsilon(epsilon, delta)) + delta
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2
    return _last(0, high, lambda mu: mu == 0 or gaussian_delta(mu, epsilon) <= delta)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon at which mu-Gaussian privacy is (epsilon, delta)-privacy, for mu > 0 and 0 < delta < 1."""
    if gaussian_delta(mu, 0) <= delta:
        return 0.0
    high = epsilon_from_rho(mu * mu / 2, delta)
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return math.nextafter(_last(0, high, lambda epsilon: gaussian_delta(mu, epsilon) > delta), math.inf)


def epsilon_from_rho(rho: float, delta: float) -> float:
    """Return the epsilon of rho-zCDP at delta: rho + 2 sqrt(rho ln(1/delta)) (Bun, Carmosino and Sorrell 2020, Lemma 15)."""
    return rho + 2 * math.sqrt(rho) * math.sqrt(-math.log(delta))


def rho_from_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest rho at which the lemma of `epsilon_from_rho` gives (epsilon, delta)-privacy."""
    log = -math.log(delta)
    return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2 if epsilon else 0.0


def optimal_delta(count: int, epsilon0: float, delta0: float, epsilon: float) -> float:
    """Return the least delta for which count (epsilon0, delta0)-private mechanisms are together (epsilon, delta)-private.

    The mechanisms may be chosen adaptively (Kairouz, Oh and Viswanath 2015, Theorem 3.3).
    """
    log_p, total = -math.log1p(math.exp(-epsilon0)), 0.0
    for i in range(count, -1, -1):
        loss = epsilon0 * (2 * i - count) - epsilon
        if loss <= 0:
            break
        ways = math.lgamma(count + 1) - math.lgamma(i + 1) - math.lgamma(count - i + 1)
        total -= math.exp(ways + count * log_p - epsilon0 * (count - i)) * math.expm1(-loss)
    if total >= 1 or delta0 == 1:
        return 1.0
    return -math.expm1(count * math.log1p(-delta0) + math.log1p(-total))


def compose(count: int, epsilon0: float, delta0: float, delta: float) -> float:
    """Return the least epsilon at which count (epsilon0, delta0)-private mechanisms are together (epsilon, delta)-private.

    It is infinite if no epsilon is enough: delta must be at least 1 - (1 - delta0)^count.
    """
    allowed = delta * (1 + 1e-12)  # rounding may make count (delta/count) slightly larger than delta
    if optimal_delta(count, epsilon0, delta0, 0) <= allowed:
        return 0.0
    if count * delta0 > allowed and optimal_delta(count, epsilon0, delta0, count * epsilon0) > allowed:
        return math.inf
    exceeds = _last(0, count * epsilon0, lambda e: optimal_delta(count, epsilon0, delta0, e) > allowed)
    return min(count * epsilon0, math.nextafter(exceeds, math.inf))


def share(count: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Return (epsilon0, delta0) such that count mechanisms with it are together (epsilon, delta)-private.

    With delta = 0 it is (epsilon/count, 0). Otherwise delta0 is delta/(2 count) and epsilon0 the largest up to epsilon
    that the theorem of `optimal_delta` allows.
    """
    if delta == 0:
        return epsilon / count, 0.0
    delta0 = delta / (2 * count)
    if optimal_delta(count, epsilon, delta0, epsilon) <= delta:
        return epsilon, delta0
    return _last(0, epsilon, lambda e: optimal_delta(count, e, delta0, epsilon) <= delta), delta0


def subsampled(epsilon: float, delta: float, fraction: float) -> tuple[float, float]:
    """Return the privacy of an (epsilon, delta)-private mechanism on a random subset of the sample.

    The subset holds a fraction of the examples, drawn without replacement: (ln(1 + fraction (e^epsilon - 1)),
    fraction delta) (Balle, Barthe and Gaboardi 2018, Theorem 9).
    """
    return math.log1p(fraction * math.expm1(epsilon)), fraction * delta


def _last(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Return the last number from low on for which a condition holds that holds at low and not at high."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _erfcx(x: float) -> float:
    """Return e^(x^2) erfc(x) for x >= 0: beyond 5 by its continued fraction."""
    if x < 5:
        return math.exp(x * x) * math.erfc(x)
    tail = x
    for level in range(60, 0, -1):
        tail = x + level / 2 / tail
    return 1 / (math.sqrt(math.pi) * tail)
