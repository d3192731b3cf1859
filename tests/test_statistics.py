"""Bands, intervals and paired tests against hand calculations."""

import itertools

import numpy as np
import pytest

from eluder.report import statistics

CURVES = np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])  # mean 3 and 30


def test_standard_deviation_and_error_by_hand():
    # Deviations from the mean 3 are −2, −1, 3: variance (4 + 1 + 9)/2 = 7.
    spread = np.sqrt(7.0) * np.array([1, 10])
    std = statistics.band(CURVES, "std")
    assert np.allclose(std.mean, [3, 30])
    assert np.allclose(std.high - std.mean, spread)
    assert np.allclose(std.mean - std.low, spread)
    error = statistics.band(CURVES, "standard-error")
    assert np.allclose(error.high - error.mean, spread / np.sqrt(3))


def test_quantiles_by_hand():
    curves = np.arange(11.0)[:, None]  # the 10 % quantile of 0 … 10 is 1
    band = statistics.band(curves, "quantiles")
    assert band.low == pytest.approx(1)
    assert band.high == pytest.approx(9)


def test_a_single_path_has_a_band_of_no_width():
    for kind in statistics.BANDS:
        band = statistics.band(CURVES[:1], kind)
        assert np.array_equal(band.low, CURVES[0])
        assert np.array_equal(band.high, CURVES[0])


def test_bootstrap_interval_matches_the_exact_distribution_of_resampled_means():
    values = np.array([0.0, 1.0, 5.0, 7.0])
    means = np.sort([np.mean(draw) for draw in itertools.product(values, repeat=4)])  # all 4⁴ resamples
    low, high = statistics.mean_interval(values)
    # A percentile of 1,000 draws lies between exact percentiles a little to either side.
    assert np.quantile(means, 0.01) <= low <= np.quantile(means, 0.05)
    assert np.quantile(means, 0.95) <= high <= np.quantile(means, 0.99)


def test_bootstrap_covers_the_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(400):
        low, high = statistics.mean_interval(rng.normal(2.0, 1.0, size=40))
        inside += low <= 2.0 <= high
    assert 0.90 <= inside / 400 <= 0.985


def test_sign_flips_by_hand():
    # Of the 8 sign patterns of (1, 2, 4) only (+,+,+) and (−,−,−) reach a sum of 7.
    assert statistics.sign_flip_p(np.array([1.0, 2.0, 4.0])) == pytest.approx(2 / 8)
    assert statistics.sign_flip_p(np.zeros(3)) == 1


def test_sign_flips_drawn_at_random_agree_with_all_of_them():
    difference = np.random.default_rng(0).normal(0.4, 1.0, size=13)
    signs = np.array(list(itertools.product((1, -1), repeat=13)))
    exact = np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12)
    assert statistics.sign_flip_p(difference) == pytest.approx(exact, abs=4 * np.sqrt(exact / 10_000))


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.04: times 3, 2, 1 gives 0.03, 0.04, 0.04.
    assert statistics.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert statistics.holm([0.9, 0.8]) == [1, 1]


def test_paired_tests_use_the_paths_that_both_have():
    noise = np.random.default_rng(1).normal(size=12) * 100
    values = {"a": noise, "b": noise + 1.0, "c": noise[:5] + 2.0}
    tests = {(t.first, t.second): t for t in statistics.paired_tests(values)}
    # Differences are constant, so noise a hundred times larger does not hide them.
    assert tests["a", "b"].difference == pytest.approx(-1)
    assert (tests["a", "b"].low, tests["a", "b"].high) == pytest.approx((-1, -1))
    assert tests["a", "b"].p_value == pytest.approx(2 / 2**12)
    assert tests["a", "c"].p_value == pytest.approx(2 / 2**5)
    assert tests["a", "b"].adjusted == pytest.approx(3 * 2 / 2**12)


def test_an_unknown_band_is_named():
    with pytest.raises(ValueError, match="'sdt'"):
        statistics.band(CURVES, "sdt")
