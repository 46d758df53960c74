//! Formulas of shares of variance, of weights and of the certificate.

/// The share of the variance of these scores that the cells explain.
pub(crate) fn share_explained(scores: &[f64], cells: &[u32], weights: Option<&[f64]>) -> f64 {
    let count = cells.iter().max().map_or(0, |&cell| cell as usize + 1);
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let total: f64 = (0..scores.len()).map(weight).sum();
    let mean = (0..scores.len())
        .map(|i| weight(i) * scores[i])
        .sum::<f64>()
        / total;
    let (mut sums, mut mass, mut squares) = (vec![0.0; count], vec![0.0; count], 0.0);
    for (row, &cell) in cells.iter().enumerate() {
        let (w, score) = (weight(row), scores[row] - mean);
        sums[cell as usize] += w * score;
        mass[cell as usize] += w;
        squares += w * score * score;
    }
    explained(&sums, &mass, squares)
}

/// $\eta^2 = \sum_c W_c \bar y_c^2/\sum_i w_i y_i^2$ of scores y about their weighted mean; 0 for constant scores.
pub(super) fn explained(sums: &[f64], mass: &[f64], squares: f64) -> f64 {
    let total: f64 = mass.iter().sum();
    // A draw has a mean of its own.
    let mean = sums.iter().sum::<f64>() / total;
    let spread = squares - total * mean * mean;
    let cells = sums.iter().zip(mass).filter(|(_, mass)| **mass > 0.0);
    let between: f64 = cells
        .map(|(sum, mass)| mass * (sum / mass - mean).powi(2))
        .sum();
    if spread > 0.0 {
        (between / spread).min(1.0)
    } else {
        0.0
    }
}

/// $[\mathrm{SSB} - (k-1)\,\mathrm{SSW}/(n-k)]/\mathrm{SST}$: the share of variance without what chance adds to it.
pub(super) fn debiased(ratio: f64, cells: f64, rows: f64) -> f64 {
    if rows > cells {
        ratio - (cells - 1.0) * (1.0 - ratio) / (rows - cells)
    } else {
        0.0
    }
}

/// What β is at most with this confidence: $\frac{n}{n-1}\bigl(\beta_n + 3\sqrt{\log(1/\delta)/2n}\bigr)$.
///
/// By McDiarmid's inequality, for rows drawn independently and cells and bins that were fixed beforehand: another row
/// in place of one moves β by at most 3/n, and $E\beta_n \ge (1 - 1/n)\beta$. With weights, n is the number of
/// equally weighted rows that say as much. Never more than 1.
pub fn certificate(beta: f64, rows: f64, confidence: f64) -> f64 {
    if rows <= 1.0 {
        return 1.0;
    }
    let margin = 3.0 * (-(1.0 - confidence).ln() / (2.0 * rows)).sqrt();
    (rows / (rows - 1.0) * (beta + margin)).min(1.0)
}

/// $(\sum w)^2/\sum w^2$
pub(crate) fn effective_rows(weights: Option<&[f64]>, rows: usize) -> f64 {
    weights.map_or(rows as f64, |weights| {
        let squares: f64 = weights.iter().map(|w| w * w).sum();
        weights.iter().sum::<f64>().powi(2) / squares
    })
}

/// The weighted standard deviation.
pub(super) fn deviation(values: &[f64], weights: Option<&[f64]>) -> f64 {
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let total: f64 = (0..values.len()).map(weight).sum();
    let sum = |value: &dyn Fn(usize) -> f64| -> f64 {
        (0..values.len()).map(|row| weight(row) * value(row)).sum()
    };
    let mean = sum(&|row| values[row]) / total;
    (sum(&|row| (values[row] - mean).powi(2)) / total).sqrt()
}
