//! The module level: types, globals, function headers, blocks.

use std::sync::Arc;

use super::ReadError;
use super::cursor::Cursor;
use super::debug::{self, DebugInfo};
use super::ir::{Block, Function, Global, Module, Param, Type};
use super::lexer::{Tok, lex};
use super::parse_const::constant;
use super::parse_inst::FnParser;

/// Reads a module.
///
/// ```
/// let m = ksearch_simt::reader::read("define void @f() {\n  ret void\n}\n").unwrap();
/// assert_eq!(m.functions.len(), 1);
/// ```
pub fn read(text: &str) -> Result<Module, ReadError> {
    let lexed = lex(text)?;
    let mut info = debug::read(&lexed.metadata);
    let mut m = Module {
        locations: std::mem::take(&mut info.locations),
        files: std::mem::take(&mut info.files),
        ..Module::default()
    };
    let mut c = Cursor::new(&lexed);
    while let Some(t) = c.peek() {
        match t {
            Tok::Word("define") => {
                c.skip();
                let f = function(&mut c, &info)?;
                m.functions.push(f);
            }
            Tok::Word("declare") => {
                c.skip();
                header(&mut c, &mut FnParser::new(&info))?;
            }
            Tok::Word("source_filename") => skip_n(&mut c, 3),
            Tok::Word("target") => skip_n(&mut c, 4),
            Tok::Word("module") => skip_n(&mut c, 3),
            Tok::Word("uselistorder" | "uselistorder_bb") => {
                let line = c.line();
                while c.peek().is_some() && c.line() == line {
                    c.skip();
                }
            }
            Tok::Comdat(_) => skip_n(&mut c, 4),
            Tok::Local(n) => {
                c.skip();
                c.expect(b'=')?;
                if !c.eat_word("type") {
                    return c.err("expected `type`");
                }
                let t = c.ty()?;
                m.types.insert(Arc::from(n), t);
            }
            Tok::Global(n) => {
                c.skip();
                c.expect(b'=')?;
                if let Some(g) = global(&mut c, n)? {
                    m.globals.push(g);
                }
            }
            t => return c.err(format!("unexpected {t:?} at module level")),
        }
    }
    Ok(m)
}

fn skip_n(c: &mut Cursor<'_>, n: usize) {
    for _ in 0..n {
        c.skip();
    }
}

fn global(c: &mut Cursor<'_>, name: &str) -> Result<Option<Global>, ReadError> {
    let mut space = 0;
    let mut external = false;
    let constant_var = loop {
        match c.peek() {
            Some(Tok::Word("addrspace")) => space = c.addrspace()?,
            Some(Tok::Word("global")) => {
                c.skip();
                break false;
            }
            Some(Tok::Word("constant")) => {
                c.skip();
                break true;
            }
            Some(Tok::Word("alias" | "ifunc")) => return c.err("aliases are not supported"),
            Some(Tok::Word(w)) => {
                external |= matches!(w, "external" | "extern_weak");
                c.skip();
                if c.peek() == Some(Tok::Punct(b'(')) {
                    c.skip_group()?;
                }
            }
            t => return c.err(format!("unexpected {t:?} in a global")),
        }
    };
    let ty = c.ty()?;
    let init = if external { None } else { Some(constant(c, &ty)?) };
    let mut align = 0;
    while c.eat_punct(b',') {
        if c.eat_word("align") {
            align = c.uint()? as u32;
        } else {
            // section "x", comdat, !dbg !1, partition "x", code_model "x", …
            let before = c.line();
            while c.peek().is_some() && c.peek() != Some(Tok::Punct(b',')) && c.line() == before {
                c.skip();
            }
        }
    }
    while let Some(Tok::Hash(_)) = c.peek() {
        c.skip();
    }
    Ok(Some(Global { name: Arc::from(name), space, ty, init, align, constant: constant_var }))
}

/// Everything up to the body: result type, name, parameters.
fn header(c: &mut Cursor<'_>, f: &mut FnParser<'_>) -> Result<(Arc<str>, Type, Vec<Param>), ReadError> {
    while let Some(Tok::Meta(_)) = c.peek() {
        // `declare !dbg !77 …`
        skip_n(c, 2);
    }
    c.attributes()?;
    let ret = c.ty()?;
    let name = match c.next()? {
        Tok::Global(n) => Arc::from(n),
        t => return c.err(format!("expected a function name, found {t:?}")),
    };
    c.expect(b'(')?;
    let mut params = Vec::new();
    if !c.eat_punct(b')') {
        loop {
            if c.eat(Tok::Ellipsis) {
                break;
            }
            let ty = c.ty()?;
            c.attributes()?;
            let local = match c.peek() {
                Some(Tok::Local(n)) => {
                    c.skip();
                    f.local(n)
                }
                _ => f.fresh_numbered(),
            };
            params.push(Param { ty, local });
            if !c.eat_punct(b',') {
                break;
            }
        }
        c.expect(b')')?;
    }
    loop {
        match c.peek() {
            // `personality`, `prefix` and their kin cannot occur in what clang prints for kernels; attributes and
            // metadata attachments do.
            Some(Tok::Meta(_)) => skip_n(c, 2),
            Some(Tok::Comdat(_)) => c.skip(),
            Some(Tok::Punct(b'(')) => c.skip_group()?,
            Some(Tok::Word("declare" | "define")) | None => break,
            Some(Tok::Word("addrspace")) => {
                c.addrspace()?;
            }
            Some(Tok::Word("align")) => skip_n(c, 2),
            Some(Tok::Word(_) | Tok::Str(_) | Tok::Hash(_)) => {
                c.skip();
                if c.eat_punct(b'=') {
                    c.skip();
                }
            }
            _ => break,
        }
    }
    Ok((name, ret, params))
}

fn function(c: &mut Cursor<'_>, info: &DebugInfo) -> Result<Function, ReadError> {
    let mut f = FnParser::new(info);
    let (name, ret, params) = header(c, &mut f)?;
    c.expect(b'{')?;
    let mut blocks: Vec<Option<Block>> = Vec::new();
    loop {
        // Block label, or the implicit number of an unlabelled entry block.
        let id = match c.peek() {
            Some(Tok::Label(n)) => {
                c.skip();
                f.block(n)
            }
            Some(Tok::Punct(b'}')) => {
                c.skip();
                break;
            }
            _ if blocks.iter().all(Option::is_none) => {
                let n = f.fresh_number();
                f.block(&n)
            }
            t => return c.err(format!("expected a block, found {t:?}")),
        } as usize;
        let mut insts = Vec::new();
        loop {
            match c.peek() {
                Some(Tok::Label(_) | Tok::Punct(b'}')) => break,
                Some(Tok::Word("uselistorder")) => {
                    let line = c.line();
                    while c.peek().is_some() && c.line() == line {
                        c.skip();
                    }
                }
                Some(Tok::Hash(record)) => {
                    // Debug records: `#dbg_value(…)`.
                    c.skip();
                    if record == "dbg_value" {
                        f.debug_value(c);
                    }
                    c.skip_group()?;
                }
                None => return c.err("function body does not end"),
                _ => insts.push(f.inst(c)?),
            }
        }
        if blocks.len() <= id {
            blocks.resize(id + 1, None);
        }
        if let Some(slot) = blocks.get_mut(id) {
            *slot = Some(Block { insts });
        }
    }
    f.finish(c, name, ret, params, blocks)
}
