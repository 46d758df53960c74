//! Sums over all pairs of rows in O(n log n).

use oblivio_base::stats::Spread;
use rayon::prelude::*;

/// Two columns, each in its own order, ready for any weights and any shuffle of the second.
pub(super) struct Pairs {
    /// The first column, ascending, with mean 0 and standard deviation 1.
    x: Vec<f64>,
    /// The second column, likewise.
    s: Vec<f64>,
    /// The row of each entry of `x`.
    rows: Vec<u32>,
    /// The place in `s` of each row.
    places: Vec<u32>,
}

/// Means over pairs of rows of the products of distances $a_{ij}$ and $b_{ij}$.
#[derive(Clone, Copy, Debug)]
pub(super) struct Products {
    /// The mean of $a_{ij}b_{ij}$.
    both: f64,
    /// The mean of $\bar a_i\bar b_i$, with $\bar a_i$ the mean of $a_{ij}$ over j.
    rows: f64,
    /// $\bar a\bar b$
    means: f64,
}

/// The products that a distance correlation is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    pub(super) xs: Products,
    pub(super) xx: Products,
    pub(super) ss: Products,
}

/// What is smaller than this is rounding, for columns of standard deviation 1.
const ROUNDING: f64 = 1e-13;

impl Products {
    /// The mean of the products of doubly centred distances, $\overline{ab} - 2\,\overline{\bar a_i\bar b_i} + \bar a\bar b$.
    fn centred(self) -> f64 {
        self.both - 2.0 * self.rows + self.means
    }

    /// The same with U-centred distances of N rows:
    /// $$\frac1{N(N-3)}\Bigl(\sum ab - \frac2{N-2}\sum_i a_{i\cdot}b_{i\cdot} + \frac{a_{\cdot\cdot}b_{\cdot\cdot}}{(N-1)(N-2)}\Bigr).$$
    ///
    /// A repeated row is at distance zero from itself, so the sums of repetitions are the weighted sums.
    fn unbiased(self, n: f64) -> f64 {
        let rows = 2.0 * n / (n - 2.0) * self.rows;
        let means = n * n / ((n - 1.0) * (n - 2.0)) * self.means;
        n / (n - 3.0) * (self.both - rows + means)
    }
}

impl Moments {
    /// $\sqrt{\mathrm{dCov}^2/\sqrt{\mathrm{dVar}_x\,\mathrm{dVar}_s}}$; 0 if a column is constant.
    pub(super) fn biased(&self) -> f64 {
        let (xx, ss) = (self.xx.centred(), self.ss.centred());
        if xx.min(ss) <= ROUNDING {
            return 0.0;
        }
        let squared = self.xs.centred().max(0.0) / (xx * ss).sqrt();
        squared.sqrt().min(1.0)
    }

    /// The bias-corrected squared distance correlation of N rows.
    pub(super) fn unbiased(&self, n: f64) -> f64 {
        let (xx, ss) = (self.xx.unbiased(n), self.ss.unbiased(n));
        if xx.min(ss) <= ROUNDING {
            return 0.0;
        }
        (self.xs.unbiased(n) / (xx * ss).sqrt()).min(1.0)
    }
}

impl Pairs {
    pub(super) fn new(x: &[f64], s: &[f64]) -> Self {
        let (rows, x) = ascending(x);
        let (order, s) = ascending(s);
        let mut places = vec![0; order.len()];
        for (place, &row) in order.iter().enumerate() {
            places[row as usize] = place as u32;
        }
        Self { x, s, rows, places }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The moments with these weights of the rows, each row with the second column's value of row `order[row]`, if an order
    /// is given.
    pub(super) fn moments(&self, weights: &[f64], order: Option<&[u32]>) -> Moments {
        let place = |row: &u32| {
            let from = order.map_or(*row, |order| order[*row as usize]);
            self.places[from as usize]
        };
        let places: Vec<u32> = self.rows.iter().map(place).collect();
        let total: f64 = weights.iter().sum();
        let of_x: Vec<f64> = self
            .rows
            .iter()
            .map(|&row| weights[row as usize] / total)
            .collect();
        let mut of_s = vec![0.0; of_x.len()];
        for (&place, &weight) in places.iter().zip(&of_x) {
            of_s[place as usize] = weight;
        }
        let (a, b) = (Side::new(&self.x, &of_x), Side::new(&self.s, &of_s));
        let rows = a.means.iter().zip(&of_x).zip(&places);
        let rows = rows.map(|((a, weight), &place)| weight * a * b.means[place as usize]);
        Moments {
            xs: Products {
                both: self.distances(&of_x, &places),
                rows: rows.sum(),
                means: a.mean * b.mean,
            },
            xx: a.squared(&of_x),
            ss: b.squared(&of_s),
        }
    }

    /// $\sum_{ij} w_iw_j|x_i - x_j||s_i - s_j|$ for weights that sum to one.
    ///
    /// With the rows in the order of x, $|x_i - x_j||s_i - s_j|$ is $\pm(x_j - x_i)(s_j - s_i)$ for i before j: plus where
    /// $s_i \le s_j$. So the sum is $4T - 2\,\mathrm{Cov}(x, s)$ with T the sum over the pairs with the plus, and T needs, for
    /// every j, the sums of w, wx, ws and wxs over the rows before j whose s is not larger: a Fenwick tree over the places
    /// in the order of s. Ties contribute nothing, in whatever order they are.
    fn distances(&self, weights: &[f64], places: &[u32]) -> f64 {
        let mut tree = Tree::new(places.len());
        let (mut plus, mut first, mut second, mut product) = (0.0, 0.0, 0.0, 0.0);
        for ((&x, &weight), &place) in self.x.iter().zip(weights).zip(places) {
            if weight == 0.0 {
                continue;
            }
            let s = self.s[place as usize];
            let [w, wx, ws, wxs] = tree.below(place as usize);
            plus += weight * (x * s * w - s * wx - x * ws + wxs);
            let row = [weight, weight * x, weight * s, weight * x * s];
            tree.add(place as usize, row);
            first += row[1];
            second += row[2];
            product += row[3];
        }
        4.0 * plus - 2.0 * (product - first * second)
    }
}

/// The mean distances of one column's entries, ascending, with weights that sum to one.
struct Side {
    /// $\sum_j w_j|v_i - v_j|$
    means: Vec<f64>,
    mean: f64,
    /// $\sum_{ij} w_iw_j(v_i - v_j)^2$
    squares: f64,
}

impl Side {
    fn new(values: &[f64], weights: &[f64]) -> Self {
        let sum = |f: fn(f64) -> f64| -> f64 {
            let pairs = values.iter().zip(weights);
            pairs.map(|(&value, weight)| weight * f(value)).sum()
        };
        let first = sum(|value| value);
        let squares = 2.0 * (sum(|value| value * value) - first * first);
        let (mut below, mut below_first, mut mean) = (0.0, 0.0, 0.0);
        let mut means = Vec::with_capacity(values.len());
        for (&value, &weight) in values.iter().zip(weights) {
            below += weight;
            below_first += weight * value;
            let distance = value * (2.0 * below - 1.0) - 2.0 * below_first + first;
            mean += weight * distance;
            means.push(distance);
        }
        Self {
            means,
            mean,
            squares,
        }
    }

    fn squared(&self, weights: &[f64]) -> Products {
        let rows = self
            .means
            .iter()
            .zip(weights)
            .map(|(mean, w)| w * mean * mean);
        Products {
            both: self.squares,
            rows: rows.sum(),
            means: self.mean * self.mean,
        }
    }
}

/// A Fenwick tree of four sums.
struct Tree(Vec<[f64; 4]>);

impl Tree {
    fn new(places: usize) -> Self {
        Self(vec![[0.0; 4]; places + 1])
    }

    /// The sums over all places below this one.
    fn below(&self, place: usize) -> [f64; 4] {
        let mut sums = [0.0; 4];
        let mut node = place;
        while node > 0 {
            for (sum, part) in sums.iter_mut().zip(&self.0[node]) {
                *sum += part;
            }
            node &= node - 1;
        }
        sums
    }

    fn add(&mut self, place: usize, row: [f64; 4]) {
        let mut node = place + 1;
        while node < self.0.len() {
            for (sum, part) in self.0[node].iter_mut().zip(&row) {
                *sum += part;
            }
            node += node & node.wrapping_neg();
        }
    }
}

/// The order that sorts the values, and the values so sorted and standardised: distance correlation does not see shift and
/// scale, and rounding does.
fn ascending(values: &[f64]) -> (Vec<u32>, Vec<f64>) {
    let mut spread = Spread::default();
    for &value in values {
        spread.add(value, 1.0);
    }
    let deviation = spread.variance().sqrt();
    let scale = if deviation > 0.0 { deviation } else { 1.0 };
    let mut sorted: Vec<(f64, u32)> = values.iter().copied().zip(0..).collect();
    sorted.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let standard = |(value, row)| (row, (value - spread.mean) / scale);
    sorted.into_iter().map(standard).unzip()
}
