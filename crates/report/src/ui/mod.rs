//! The dashboard: a local page on which runs are watched, compared, stopped and resumed. Loopback only, guarded by a
//! token, nothing from outside, no file but what is made of the runs in its folder. What changes a run is done by
//! whoever serves it ([`Control`]). Must not decide anything.

mod guard;
mod pages;
mod routes;
mod shelf;

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use ksearch_search::RunStore;

pub use guard::{Guard, Refusal};

use crate::model::LineCosts;

/// What the dashboard asks of whoever serves it.
pub trait Control: Send + Sync {
    /// Starts to work on the run again, beside the dashboard; or says why that cannot be.
    fn resume(&self, run: &str) -> Result<(), String>;

    /// Counts what each line of the run's best kernel costs, which may take seconds; or says why that cannot be.
    fn line_costs(&self, run: &str) -> Result<LineCosts, String>;
}

/// A dashboard that is about to be served.
pub struct Dashboard {
    listener: TcpListener,
    guard: Guard,
    store: RunStore,
    control: Arc<dyn Control>,
}

impl Dashboard {
    /// Takes a port (0: any that is free) on loopback for the runs of `store`.
    pub fn bind(port: u16, store: RunStore, control: Arc<dyn Control>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let guard = Guard::new(listener.local_addr()?.port())?;
        Ok(Self { listener, guard, store, control })
    }

    /// The address to open, token included.
    pub fn address(&self) -> String {
        self.guard.address()
    }

    /// Answers until the process ends.
    pub fn serve(self) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(4).build()?;
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            axum::serve(listener, routes::router(self.guard, self.store, self.control)).await
        })
    }
}
