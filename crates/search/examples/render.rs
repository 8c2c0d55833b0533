//! Prints the kernel that the built-in coder writes for a plan: `render TASK STRATEGY… [NAME=VALUE…]`.

#[path = "support/facts.rs"]
mod facts;

use anyhow::{Context, Result};
use ksearch_search::{Plan, coder};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let name = args.next().context("usage: render TASK STRATEGY… [NAME=VALUE…]")?;
    let generator = coder::generator(&name).context("no generator for this task")?;
    let facts = facts::facts(&name)?;
    let mut plan = Plan::default();
    for arg in args {
        match arg.split_once('=') {
            Some((tunable, value)) => {
                plan.values.insert(tunable.to_owned(), value.parse()?);
            }
            None => plan = generator.catalogue().extend(&plan, &arg, &facts)?,
        }
    }
    let candidate = generator.render(&plan, &facts)?;
    for file in &candidate.files {
        #[allow(clippy::print_stdout)]
        {
            print!("{}", file.text);
        }
    }
    Ok(())
}
