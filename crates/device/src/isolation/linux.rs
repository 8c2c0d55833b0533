//! Isolation by Linux: Landlock for files and sockets, seccomp for system calls, resource limits. Must not know what runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::{Isolation, Limits};

/// The newest Landlock interface asked for; the crate takes off what the running kernel does not know.
const LANDLOCK: ABI = ABI::V6;

/// Which system calls a thread keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A thread that loads a library and then runs untrusted code: may also open and map files for reading.
    Loader,
    /// A thread that runs untrusted code: memory of its own, locks, clocks.
    Kernel,
    /// A thread that only talks over descriptors it already has.
    Talker,
}

/// From now on this thread, and those it starts, can open nothing but what lies beneath `read` (for reading and
/// executing) and `write`; and no TCP sockets. `Ok` says how, `Err` why not.
pub fn restrict_files(read: &[PathBuf], write: &[PathBuf]) -> Result<String, String> {
    let readable = AccessFs::from_read(LANDLOCK);
    let writable = AccessFs::from_all(LANDLOCK);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writable)
        .and_then(|r| r.handle_access(AccessNet::from_all(LANDLOCK)))
        .and_then(|r| r.scope(Scope::from_all(LANDLOCK)))
        .and_then(Ruleset::create)
        .and_then(|r| r.add_rules(path_beneath_rules(read, readable)))
        .and_then(|r| r.add_rules(path_beneath_rules(write, writable)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(|e| format!("Landlock refused: {e}"))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::FullyEnforced, _) => Ok("Landlock".into()),
        (RulesetStatus::PartiallyEnforced, _) => Ok("Landlock, as far as this kernel knows it".into()),
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => {
            Err("Landlock is switched off in this kernel".into())
        }
        (RulesetStatus::NotEnforced, _) => Err("this kernel has no Landlock".into()),
    }
}

/// What Landlock would do here, found out on a thread that ends at once.
fn landlock_status() -> Result<String, String> {
    let probe = std::thread::Builder::new().name("probe".into()).spawn(|| restrict_files(&[], &[]));
    match probe.map(std::thread::JoinHandle::join) {
        Ok(Ok(answer)) => answer,
        _ => Err("the probe could not run".into()),
    }
}

/// What this host can enforce, found out by trying on threads of this process that end at once.
pub fn available() -> Isolation {
    let mut out = Isolation::default();
    out.note("no files but the candidate's own, no TCP", landlock_status());
    let seccomp = std::thread::Builder::new().name("probe".into()).spawn(|| forbid(Filter::Kernel, false));
    let seccomp = match seccomp.map(std::thread::JoinHandle::join) {
        Ok(Ok(answer)) => answer,
        _ => Err("the probe could not run".into()),
    };
    out.note("no system calls but memory, locks and clocks", seccomp);
    out.note("limits of memory, processor time and file size", Ok("rlimit".into()));
    out.note("empty environment, process group of its own, deadline", Ok("always".into()));
    out
}

/// Sets the limits; none can be raised again by an unprivileged process.
pub fn limit(limits: &Limits) -> Result<String, String> {
    let set = |resource, value: Option<u64>| match value {
        Some(value) => setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) }),
        None => Ok(()),
    };
    set(Resource::Core, Some(0))
        .and_then(|()| set(Resource::As, limits.address_space))
        .and_then(|()| set(Resource::Cpu, limits.cpu_seconds))
        .and_then(|()| set(Resource::Fsize, limits.file_size))
        .and_then(|()| set(Resource::Nofile, limits.files))
        .map(|()| "rlimit".to_owned())
        .map_err(|e| format!("setrlimit: {e}"))
}

fn arch() -> Result<TargetArch, String> {
    TargetArch::try_from(std::env::consts::ARCH).map_err(|e| e.to_string())
}

fn condition(index: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, value).map_err(|e| e.to_string())
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|e| e.to_string())
}

/// Leaves the calling thread, and those it starts, only the system calls of `filter`. Any other one raises SIGSYS where
/// `trap`; else it fails with EPERM (for a probe on a thread that still has to end in order).
pub fn forbid(filter: Filter, trap: bool) -> Result<String, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let mut allow = |calls: &[i64]| {
        for call in calls {
            rules.insert(*call, Vec::new());
        }
    };
    // Memory, locks, clocks, signals' returns and the end.
    allow(&[
        libc::SYS_munmap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_mremap,
        libc::SYS_futex,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_gettimeofday,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_getrandom,
        libc::SYS_rt_sigreturn,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_rseq,
        libc::SYS_set_robust_list,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ]);
    match filter {
        Filter::Talker => allow(&[
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_recvfrom,
            libc::SYS_sendto,
            libc::SYS_close,
            libc::SYS_mmap,
            libc::SYS_mprotect,
        ]),
        Filter::Loader => {
            allow(&[
                libc::SYS_read,
                libc::SYS_pread64,
                libc::SYS_close,
                libc::SYS_fstat,
                libc::SYS_newfstatat,
                libc::SYS_lseek,
                libc::SYS_fcntl,
                libc::SYS_mmap,
                libc::SYS_mprotect,
                libc::SYS_readlinkat,
                libc::SYS_prctl,
                libc::SYS_seccomp,
                #[cfg(target_arch = "x86_64")]
                libc::SYS_readlink,
                #[cfg(target_arch = "x86_64")]
                libc::SYS_access,
                libc::SYS_faccessat,
            ]);
            let writing = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT) as u64;
            let reading = rule(vec![condition(2, SeccompCmpOp::MaskedEq(writing), 0)?])?;
            rules.insert(libc::SYS_openat, vec![reading]);
        }
        Filter::Kernel => {
            // Fresh memory only, never executable; reserved memory of the allocator may become usable.
            let anonymous = rule(vec![
                condition(3, SeccompCmpOp::MaskedEq(libc::MAP_ANONYMOUS as u64), libc::MAP_ANONYMOUS as u64)?,
                condition(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0)?,
            ])?;
            rules.insert(libc::SYS_mmap, vec![anonymous]);
            let data = rule(vec![condition(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0)?])?;
            rules.insert(libc::SYS_mprotect, vec![data]);
        }
    }
    let other = if trap { SeccompAction::Trap } else { SeccompAction::Errno(libc::EPERM as u32) };
    apply(rules, other, SeccompAction::Allow)
}

/// Leaves the calling process everything but sockets, other processes' memory and the system's own settings; what is
/// refused fails with EPERM. For compilers, which start processes of their own.
pub fn deny_network() -> Result<String, String> {
    let denied = [
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_mount,
        libc::SYS_bpf,
        libc::SYS_io_uring_setup,
        libc::SYS_keyctl,
    ];
    let rules = denied.into_iter().map(|call| (call, Vec::new())).collect();
    apply(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))
}

fn apply(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<String, String> {
    let filter = SeccompFilter::new(rules, otherwise, matched, arch()?).map_err(|e| e.to_string())?;
    let program: BpfProgram = filter.try_into().map_err(|e: seccompiler::BackendError| e.to_string())?;
    seccompiler::apply_filter(&program).map(|()| "seccomp".to_owned()).map_err(|e| format!("seccomp refused: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_under_the_kernel_filter_cannot_open_files_or_sockets() {
        let tried = std::thread::spawn(|| {
            if forbid(Filter::Kernel, false).is_err() {
                return None;
            }
            Some((std::fs::File::open("/").is_err(), std::net::UdpSocket::bind("127.0.0.1:0").is_err()))
        });
        match tried.join().unwrap() {
            Some(refused) => assert_eq!(refused, (true, true)),
            None => assert!(!available().missing.is_empty(), "what is missing must be said"),
        }
    }

    #[test]
    fn a_thread_under_landlock_reads_only_what_it_was_given() {
        let folder = std::env::temp_dir();
        let tried = std::thread::spawn(move || {
            if restrict_files(std::slice::from_ref(&folder), &[]).is_err() {
                return None;
            }
            let open = |p: &std::path::Path| std::fs::File::open(p).is_ok();
            Some((open(&folder), open(std::path::Path::new("/etc/passwd"))))
        });
        match tried.join().unwrap() {
            Some(seen) => assert_eq!(seen, (true, false)),
            None => assert!(!available().missing.is_empty(), "what is missing must be said"),
        }
    }
}
