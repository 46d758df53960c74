//! t
use oblivio::*;
use std::time::Instant;
fn best(k: usize, mut f: impl FnMut()) -> f64 {
    (0..k)
        .map(|_| {
            let t = Instant::now();
            f();
            t.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}
fn main() {
    let n = 10_000;
    for d in [10usize, 100] {
        let mut s = 1u64;
        let v: Vec<f64> = (0..n * d)
            .map(|_| {
                s = s
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (s >> 11) as f64 / (1u64 << 53) as f64
            })
            .collect();
        let p = Points::new(v, d).unwrap();
        let k: Kernel = format!("rbf(gamma={})", 1.0 / d as f64).parse().unwrap();
        let w = Watch::default();
        let mut buf = Lower::new(n).unwrap();
        for t in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(t)
                .build()
                .unwrap();
            pool.install(|| {
                println!(
                    "d={d} threads={t} lower reused {:.4}",
                    best(5, || KernelMatrix::of(&k, &p)
                        .lower_into(&mut buf, &w)
                        .unwrap())
                );
                println!(
                    "   full fresh {:.4}",
                    best(3, || drop(KernelMatrix::of(&k, &p).entries(&w).unwrap()))
                );
                println!(
                    "   sums {:.4}",
                    best(3, || drop(
                        KernelMatrix::of(&k, &p)
                            .grouped_sums(&vec![1.0; n], &vec![0; n], 1, &w)
                            .unwrap()
                    ))
                );
            });
        }
    }
}
