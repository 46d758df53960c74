//! What the ridge experiments come to with all the data in the world, noise apart.
//!
//! Write b = 1 − γ and V = Var S² = 500/9. Since $h(X) - E^S h(X)$ is orthogonal to every function of S, the error of an
//! oblivious prediction is Var E\[Y|S\] plus what h leaves of $Y - E^S Y$, and $h = x^2$ leaves nothing. Within cells of
//! finite width a prediction may still follow S, so the error is lower.

use super::Which;

/// Cells of S.
pub(super) const CELLS: usize = 16;
/// Bounds of S and U.
const BOUND: f64 = 5.0;
/// E S²
const SQUARE: f64 = BOUND * BOUND / 3.0;
/// Var S²
const VARIANCE: f64 = 500.0 / 9.0;

/// Experiment 2, ORR in 16 cells: the smallest error over h, by quadrature over a rich basis of splines, for γ = 0, 0.1, …, 1.
const OBLIVIOUS_IN_CELLS: [f64; 11] = [
    217.8955, 179.2737, 147.5216, 121.9896, 101.8215, 86.1888, 74.3764, 65.7988, 59.9988, 56.6498,
    55.5556,
];

/// One number for KRR, for ORR and for M-ORR.
pub(super) type Each = [f64; 3];

/// Mean squared errors of the best predictions with the exact conditional mean.
pub(super) fn exact(which: Which, mix: f64) -> Each {
    let b = 1.0 - mix;
    match which {
        Which::One => {
            let oblivious = b.powi(4) * VARIANCE;
            [0.0, oblivious, oblivious]
        }
        Which::Two => {
            let oblivious = (1.0 + b * b).powi(2) * VARIANCE;
            let (plain, excess) = second(mix);
            [plain * VARIANCE, oblivious, oblivious + excess * VARIANCE]
        }
    }
}

/// Experiment 2: the errors of KRR, and of M-ORR beyond that of ORR, as shares of V.
fn second(mix: f64) -> (f64, f64) {
    let b = 1.0 - mix;
    if mix >= 0.5 {
        let r = b / mix;
        return (1.0 - r / 6.0, r / 6.0 * (1.0 - r / 6.0));
    }
    let p = mix / b;
    let power = |k: i32| p.powi(k);
    let plain = 5.0 * power(2) - 7.5 * power(3) + 4.0 * power(4) - 2.0 / 3.0 * power(5);
    let excess = if p <= 0.5 {
        5.0 * power(2) - 12.0 * power(3) + 25.0 / 3.0 * power(4) - 16.0 / 21.0 * power(5)
    } else {
        16.0 / 21.0 * power(5) - 37.0 / 9.0 * power(4) + 20.0 / 3.0 * power(3)
            - 5.0 / 3.0 * power(2)
            - 50.0 / 9.0 * p
            + 17.0 / 3.0
            - 11.0 / (6.0 * p)
            + 53.0 / (252.0 * p * p)
    };
    (plain, excess)
}

/// The same with [`CELLS`] cells, at γ = `tenths`/10, and E Var(h(X)|cell) of the h that is learned.
pub(super) fn in_cells(which: Which, tenths: usize) -> (Each, Each) {
    let mix = tenths as f64 / 10.0;
    let b = 1.0 - mix;
    // Var X² = γ⁴V + b⁴V + 4γ²b²(E S²)², of which the cells explain b⁴ Var E[S²|cell].
    let spread =
        mix.powi(4) * VARIANCE + 4.0 * mix * mix * b * b * SQUARE * SQUARE + b.powi(4) * inside();
    match which {
        Which::One => {
            let oblivious = b.powi(4) * (VARIANCE - inside());
            ([0.0, oblivious, oblivious], [0.0, spread, spread])
        }
        Which::Two => {
            let (m_oblivious, m_spread) = plain_in_cells(mix);
            let plain = exact(which, mix)[0];
            (
                [plain, OBLIVIOUS_IN_CELLS[tenths], m_oblivious],
                [0.0, spread, m_spread],
            )
        }
    }
}

/// E Var(S²|cell): for S = m + t with t uniform on \[−a, a\] it is $4m^2a^2/3 + 4a^4/45$ in a cell of centre m.
fn inside() -> f64 {
    let a = BOUND / CELLS as f64;
    let centres = SQUARE - a * a / 3.0;
    4.0 * a * a / 3.0 * centres + 4.0 / 45.0 * a.powi(4)
}

/// Experiment 2 with h = E\[Y|X\] less its cell means: the error, and E Var(h(X)|cell), by the midpoint rule.
fn plain_in_cells(mix: f64) -> (f64, f64) {
    const ALONG: usize = 24;
    const ACROSS: usize = 1500;
    let b = 1.0 - mix;
    let middle = |i: usize, of: usize| BOUND * (2.0 * (i as f64 + 0.5) / of as f64 - 1.0);
    let count = (ALONG * ACROSS) as f64;
    let mut cells = Vec::new();
    for cell in 0..CELLS {
        // Means over the cell of the rest r = Y − h, r², h and h².
        let mut means = [0.0; 4];
        for i in 0..ALONG {
            let s = middle(cell * ALONG + i, CELLS * ALONG);
            for j in 0..ACROSS {
                let x = mix * middle(j, ACROSS) + b * s;
                let square = square_given(x, mix);
                let (rest, h) = (s * s - square, x * x + square);
                for (mean, value) in means.iter_mut().zip([rest, rest * rest, h, h * h]) {
                    *mean += value / count;
                }
            }
        }
        cells.push(means);
    }
    let average = |value: &dyn Fn(&[f64; 4]) -> f64| -> f64 {
        cells.iter().map(value).sum::<f64>() / CELLS as f64
    };
    let overall = average(&|m| m[2]);
    let error = average(&|m| {
        let offset = m[2] - overall;
        m[1] + 2.0 * m[0] * offset + offset * offset
    });
    (error, average(&|m| m[3] - m[2] * m[2]))
}

/// E\[S²|X = x\]: given X, S is uniform on what the bounds of U leave of \[−5, 5\].
fn square_given(x: f64, mix: f64) -> f64 {
    let b = 1.0 - mix;
    if b == 0.0 {
        return SQUARE;
    }
    let low = ((x - mix * BOUND) / b).max(-BOUND);
    let high = ((x + mix * BOUND) / b).min(BOUND);
    (low * low + low * high + high * high) / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KRR 2, ORR 1, ORR 2, M-ORR 2, then ORR 1 and M-ORR 2 in 16 cells.
    const PRINTED: [[f64; 6]; 11] = [
        [0.000, 55.556, 222.222, 222.222, 54.4739, 217.8955],
        [2.891, 36.450, 182.006, 184.590, 35.7403, 181.1065],
        [11.683, 22.756, 149.422, 158.134, 22.3125, 155.3816],
        [25.183, 13.339, 123.339, 136.888, 13.0792, 134.7907],
        [39.018, 7.200, 102.756, 114.367, 7.0598, 112.9020],
        [46.296, 3.472, 86.806, 94.522, 3.4046, 93.5826],
        [49.383, 1.422, 74.756, 80.243, 1.3945, 79.6417],
        [51.587, 0.450, 66.006, 69.690, 0.4412, 69.3379],
        [53.241, 0.089, 60.089, 62.307, 0.0872, 62.1307],
        [54.527, 0.006, 56.672, 57.682, 0.0054, 57.6205],
        [55.556, 0.000, 55.556, 55.556, 0.0000, 55.5556],
    ];

    #[test]
    fn closed_forms_are_the_printed_digits() {
        for (tenths, row) in PRINTED.iter().enumerate() {
            let mix = tenths as f64 / 10.0;
            let (one, two) = (exact(Which::One, mix), exact(Which::Two, mix));
            assert_eq!((one[0], one[1]), (0.0, one[2]));
            let found = [two[0], one[1], two[1], two[2]];
            for (found, printed) in found.iter().zip(row) {
                assert!((found - printed).abs() < 5.1e-4, "{mix}: {found} {printed}");
            }
            let one = in_cells(Which::One, tenths).0[1];
            assert!((one - row[4]).abs() < 1e-4, "{mix}: {one}");
            let two = in_cells(Which::Two, tenths).0[2];
            assert!((two - row[5]).abs() < 3e-3, "{mix}: {two}");
        }
    }

    #[test]
    fn the_spread_within_cells_is_that_of_the_learned_function() {
        // At γ = 1, X is independent of the cells and h = x² + 25/3: all of Var X² is within.
        for which in [Which::One, Which::Two] {
            let spread = in_cells(which, 10).1;
            assert!((spread[1] - VARIANCE).abs() < 1e-9);
            assert!((spread[2] - VARIANCE).abs() < 1e-3);
        }
        // For h = x², quadrature and closed form agree where E[S²|X] is constant: at γ = 1 only; at γ = 0, h = 2x².
        let (closed, twice) = (in_cells(Which::One, 0).1[1], in_cells(Which::Two, 0).1[2]);
        assert!((4.0 * closed - twice).abs() < 1e-2);
    }
}
