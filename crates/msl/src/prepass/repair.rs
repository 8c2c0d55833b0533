//! What C++ for OpenCL refuses and MSL accepts, and only types can tell: clang's complaint shows the place, an edit
//! there says what MSL means, and the text is compiled again. Knows the complaints and the edits.

use std::collections::BTreeSet;

use super::expr::{assignment_end, colon_of, left_start, right_end};
use super::scan::Outline;
use super::unit::Unit;

/// A complaint of clang's at a token.
#[derive(Clone, Debug)]
pub struct Complaint<'a> {
    /// Index of the token.
    pub token: usize,
    /// The message.
    pub message: &'a str,
}

/// Makes the edits that the complaints call for; `done` remembers them. Returns whether there were new ones.
pub fn repair(u: &mut Unit, outline: &Outline, complaints: &[Complaint<'_>], done: &mut BTreeSet<usize>) -> bool {
    let mut changed = false;
    for complaint in complaints {
        if done.contains(&complaint.token) {
            continue;
        }
        if one(u, outline, complaint).is_some() {
            done.insert(complaint.token);
            changed = true;
        }
    }
    changed
}

fn one(u: &mut Unit, outline: &Outline, complaint: &Complaint<'_>) -> Option<()> {
    let (at, message) = (complaint.token, complaint.message);
    if message.starts_with("scalar operand type has greater rank") {
        // `half4 * float`: the scalar is converted to the vector's element.
        let first = message.split_once("('")?.1;
        if u.is(at, "?") {
            // A vector in one branch and a scalar in the other.
            let colon = colon_of(u, at)?;
            let second = (u.next(at), colon);
            let third = (u.next(colon), assignment_end(u, u.next(colon)));
            let (vector, scalar) =
                if is_vector_name(first.split('\'').next()?) { (second, third) } else { (third, second) };
            let text = u.render(vector.0, vector.1);
            wrap(u, &format!("__ks_like<decltype(__ks_value({text}))>("), scalar.0, scalar.1);
            return Some(());
        }
        return wrap_scalar(u, outline, at, is_vector_name(first.split('\'').next()?));
    }
    if message.starts_with("incompatible operand types") && u.is(at, "?") {
        // The branches of a conditional are objects in different memory: take their values.
        let colon = colon_of(u, at)?;
        let (second, third) = (u.next(at), u.next(colon));
        let end = assignment_end(u, third);
        wrap(u, "__ks_value(", second, colon);
        wrap(u, "__ks_value(", third, end);
        return Some(());
    }
    if message.starts_with("conditional expression is ambiguous") && message.contains("bfloat") && u.is(at, "?") {
        let colon = colon_of(u, at)?;
        let (second, third) = (u.next(at), u.next(colon));
        let end = assignment_end(u, third);
        wrap(u, "__ks_branch(", second, colon);
        wrap(u, "__ks_branch(", third, end);
        return Some(());
    }
    if message.starts_with("cannot initialize object parameter") || message.starts_with("no matching member function") {
        // A member called from a constructor, where the object may be anywhere.
        let inside = |f: &super::scan::Function| f.body.is_some_and(|(a, b)| a < at && at < b);
        outline.functions.iter().find(|f| inside(f) && f.record.as_ref() == Some(&f.name))?;
        if u.is_ident(at, "this") {
            u.replace(at, "__ks_this(this)");
        } else if u.is(at, "->") && u.prev(at).is_some_and(|p| u.is_ident(p, "this")) {
            u.replace(u.prev(at)?, "__ks_this(this)");
        } else {
            u.ident(at)?;
            u.insert_before(at, "__ks_this(this)->");
        }
        return Some(());
    }
    if let Some(types) = message.strip_prefix("invalid operands to binary expression ('") {
        // A pointer and a record that converts to an integer.
        let (left, right) = types.split_once("' and '")?;
        let (start, end) = match (left.contains('*'), right.contains('*')) {
            (true, false) => (u.next(at), right_end(u, outline, at)?),
            (false, true) => (left_start(u, at)?, at),
            _ => return None,
        };
        wrap(u, "__ks_offset(", start, end);
        return Some(());
    }
    if message.starts_with("no matching function for call") {
        // A list in braces for a vector parameter.
        let open = (at..at + 64).find(|i| u.is(*i, "("))?;
        let close = u.pair(open)?;
        let mut found = None;
        for (a, b) in u.split(open + 1, close) {
            let a = u.skip(a);
            if u.is(a, "{")
                && u.pair(a).is_some_and(|p| u.skip(p + 1) == b)
                && (2..=4).contains(&u.split(a + 1, b - 1).len())
            {
                let end = u.pair(a)?;
                u.replace(a, "__ks_list(");
                u.replace(end, ")");
                found = Some(());
            }
        }
        return found;
    }
    if let Some(rest) = message.strip_prefix("too few elements in vector initialization (expected ") {
        // Elements that a list does not name are zero.
        let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<usize>().ok());
        let (wanted, given) = (numbers.next()?, numbers.next()?);
        let open = (at..at + 8).find(|i| u.is(*i, "{"))?;
        let close = u.pair(open)?;
        let last = u.prev(close)?;
        let comma = u.is(last, ",");
        let zeros = vec!["0"; wanted.checked_sub(given)?].join(", ");
        u.insert_before(close, if comma || last == open { zeros } else { format!(", {zeros}") });
        return Some(());
    }
    None
}

fn is_vector_name(ty: &str) -> bool {
    let word = ty.rsplit(' ').next().unwrap_or(ty);
    super::words::vector(word, true).is_some()
        || ty.contains("ext_vector_type")
        || ty.contains("vec<")
        || ty.contains("vec_t<")
}

fn wrap_scalar(u: &mut Unit, outline: &Outline, at: usize, vector_left: bool) -> Option<()> {
    let (start, end) = if vector_left { (u.next(at), right_end(u, outline, at)?) } else { (left_start(u, at)?, at) };
    wrap(u, "__ks_scalar(", start, end);
    Some(())
}

fn wrap(u: &mut Unit, open: &str, start: usize, end: usize) {
    u.wrap_outside(start, end, open, ")");
}
