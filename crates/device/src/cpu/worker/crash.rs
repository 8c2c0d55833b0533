//! The last breath: a handler that leaves which signal came, and where, in shared memory, and ends the process.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::Address;

/// Where the words go.
static PAGE: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());

const SIGNALS: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGSYS, libc::SIGTRAP];

/// From now on every deadly signal is written to `page` first.
pub fn watch(page: Address) -> io::Result<()> {
    let words = page.0.cast::<u64>();
    // SAFETY: the page is mapped for writing and lives as long as the process.
    unsafe { std::ptr::write_bytes(words, 0, 8) };
    PAGE.store(words, Ordering::SeqCst);
    for signal in SIGNALS {
        // SAFETY: the handler only does what a handler may: plain stores and _exit.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = on_signal as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// Gives the calling thread a stack of its own for handlers, so that a stack overflow can be told.
pub fn own_stack() {
    let stack = Box::leak(vec![0_u8; 64 << 10].into_boxed_slice());
    let own = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
    // SAFETY: the stack is leaked, so it lives as long as the thread. Where it is refused, an overflow is told by the
    // system's own signal only.
    let _ = unsafe { libc::sigaltstack(&raw const own, std::ptr::null_mut()) };
}

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let words = PAGE.load(Ordering::SeqCst);
    if !words.is_null() && !info.is_null() {
        // SAFETY: the page is mapped; `info` is what the system handed over.
        unsafe {
            if signal == libc::SIGSYS {
                // siginfo of SIGSYS: an address, then the number of the call.
                let number = info.cast::<u8>().add(24).cast::<i32>().read_unaligned();
                words.add(2).write_volatile(i64::from(number) as u64);
            } else {
                words.add(1).write_volatile((*info).si_addr() as u64);
            }
            words.write_volatile(signal as u64);
        }
    }
    // SAFETY: ends the process at once, as a handler may.
    unsafe { libc::_exit(101) };
}
