// SPDX-License-Identifier: MIT OR Apache-2.0
//! Significance of the difference between two sets of figures: the rank test of Mann and Whitney,
//! two-sided and exact, with shared ranks for equal figures; and Holm's correction for several
//! tests. The test assumes no distribution of the figures, which on a shared machine have none of
//! the usual ones.

/// Returns the probability that figures without a difference would be at least as far apart as
/// these.
pub fn p_value(a: &[f64], b: &[f64]) -> f64 {
    let ranks = doubled_ranks(a.iter().chain(b).copied().collect());
    let observed: usize = ranks.iter().take(a.len()).sum();
    let ways = ways_by_sum(&ranks, a.len());
    // the mean of a sum is |a| * (n + 1) / 2, here of doubled ranks
    let mean = a.len() * (ranks.len() + 1);
    let far = observed.abs_diff(mean);
    let extreme = ways.iter().enumerate();
    let extreme = extreme.filter(|(sum, _)| sum.abs_diff(mean) >= far);
    let all: f64 = ways.iter().sum();
    extreme.map(|(_, ways)| ways).sum::<f64>() / all
}

/// Returns the smallest value of [`p_value`] for this many figures on either side.
pub fn p_value_min(figures: usize) -> f64 {
    let ascending: Vec<f64> = (0..2 * figures).map(|n| n as f64).collect();
    let (a, b) = ascending.split_at(figures);
    p_value(a, b)
}

/// Returns the smallest number of rounds, from `rounds` on, with which one of `questions` tests can
/// be below `level`; `None` if even many cannot.
pub fn rounds_needed(rounds: usize, questions: usize, level: f64) -> Option<usize> {
    /// An upper bound of useful rounds.
    const MOST: usize = 30;
    let tells = |rounds: &usize| p_value_min(*rounds) * (questions as f64) < level;
    (rounds..rounds.max(MOST) + 1).find(tells)
}

/// Returns the p-values after Holm's correction, in the order of the arguments.
pub fn corrected(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut corrected = vec![1.0; values.len()];
    let mut highest = 0.0_f64;
    for (place, at) in order.into_iter().enumerate() {
        let times = (values.len() - place) as f64;
        highest = highest.max((values[at] * times).min(1.0));
        corrected[at] = highest;
    }
    corrected
}

/// Returns twice the rank of each figure, from 1, so that a shared rank is a whole number too.
fn doubled_ranks(figures: Vec<f64>) -> Vec<usize> {
    let rank = |figure: &f64| {
        let below = figures.iter().filter(|f| *f < figure).count();
        let equal = figures.iter().filter(|f| *f == figure).count();
        2 * below + equal + 1
    };
    figures.iter().map(rank).collect()
}

/// Returns, for each sum, the number of ways in which `chosen` of the ranks add up to it.
fn ways_by_sum(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for count in (1..=chosen).rev() {
            for sum in (rank..=most).rev() {
                ways[count][sum] += ways[count - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} {expected}");
    }

    #[test]
    fn values_of_the_published_tables() {
        // the most extreme of C(10, 5) = 252 orders, at both ends
        is(
            p_value(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]),
            2.0 / 252.0,
        );
        is(p_value_min(3), 0.1);
        is(p_value_min(4), 2.0 / 70.0);
        // U = 1 of 3 and 3: two of twenty orders on either side
        is(p_value(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]), 0.2);
        is(p_value_min(1), 1.0);
    }

    #[test]
    fn it_does_not_matter_who_is_first() {
        let (a, b) = ([1.5, 3.0, 2.0, 8.0], [2.5, 9.0, 7.0]);
        is(p_value(&a, &b), p_value(&b, &a));
    }

    #[test]
    fn equal_figures_do_not_differ() {
        is(p_value(&[5.0; 4], &[5.0; 4]), 1.0);
        assert!(p_value(&[1.0, 1.0, 1.0, 2.0], &[2.0, 2.0, 3.0, 3.0]) > p_value_min(4));
        is(p_value(&[], &[1.0]), 1.0);
    }

    #[test]
    fn many_questions_ask_for_more() {
        let values = corrected(&[0.03, 0.005, 0.02]);
        for (value, expected) in values.iter().zip([0.04, 0.015, 0.04]) {
            is(*value, expected);
        }
        assert_eq!(corrected(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(corrected(&[]).is_empty());
    }
}
