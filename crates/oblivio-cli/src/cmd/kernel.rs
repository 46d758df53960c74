//! The options that say which kernel.

use anyhow::Result;
use oblivio::Kernel;
use oblivio_kernels::Gamma;

// (A comment for the documentation would become the help of the command.)
#[derive(clap::Args)]
pub(crate) struct KernelOptions {
    /// linear, poly, rbf, laplacian, matern12, matern32, matern52, or sums and products of them
    #[arg(
        long,
        value_name = "KERNEL",
        default_value = "rbf",
        help_heading = "Kernel"
    )]
    kernel: Kernel<Gamma>,
    /// Gamma of a single kernel: a number, scale or median
    #[arg(long, value_name = "GAMMA", help_heading = "Kernel")]
    gamma: Option<Gamma>,
    /// Degree of a single poly kernel
    #[arg(long, value_name = "P", help_heading = "Kernel")]
    degree: Option<u32>,
    /// Constant of a single poly kernel
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "C",
        help_heading = "Kernel"
    )]
    coef0: Option<f64>,
}

impl KernelOptions {
    pub(super) fn kernel(&self) -> Result<Kernel<Gamma>> {
        let mut kernel = self.kernel.clone();
        kernel.set(self.gamma, self.degree, self.coef0)?;
        Ok(kernel)
    }
}
