//! May functions call each other in a circle? Told by names and numbers of arguments alone, so overloads can look like a
//! circle that is none; a certain answer takes the compiler. Templates are left out: their instances differ.

use super::scan::Outline;
use super::unit::Unit;

/// Is there a circle by names?
pub fn may_recurse(u: &Unit, outline: &Outline) -> bool {
    let functions: Vec<_> = outline.functions.iter().filter(|f| f.template.is_none() && f.body.is_some()).collect();
    let arity: Vec<usize> = functions.iter().map(|f| u.split(f.params.0 + 1, f.params.1).len()).collect();
    let calls: Vec<Vec<usize>> = functions
        .iter()
        .map(|f| {
            let (open, close) = f.body.unwrap_or_default();
            let mut out = Vec::new();
            for i in open..close {
                let (Some(name), paren) = (u.ident(i), u.next(i)) else { continue };
                let Some(end) = u.pair(paren).filter(|_| u.is(paren, "(")) else { continue };
                let given = u.split(paren + 1, end).len();
                out.extend((0..functions.len()).filter(|n| functions[*n].name == name && arity[*n] == given));
            }
            out
        })
        .collect();
    let mut state = vec![State::New; functions.len()];
    (0..functions.len()).any(|n| circle(n, &calls, &mut state, 0))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// Chains longer than any real source's; what lies deeper is left to the compiler.
const DEPTH: usize = 500;

fn circle(n: usize, calls: &[Vec<usize>], state: &mut [State], depth: usize) -> bool {
    match state[n] {
        State::Open => return true,
        State::Done => return false,
        State::New => {}
    }
    if depth > DEPTH {
        return true;
    }
    state[n] = State::Open;
    let found = calls[n].iter().any(|m| circle(*m, calls, state, depth + 1));
    state[n] = State::Done;
    found
}
