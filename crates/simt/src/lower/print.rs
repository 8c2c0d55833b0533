//! Text of programs, for people who debug the lowering. Knows the forms, changes nothing.

use std::fmt;

use super::linear::{LOp, Lowered, Reg};
use super::sir::{Class, Func, Op};

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match (self.class, self.uniform) {
            (Class::Pred, _) => "p",
            (Class::B64, false) => "w",
            (_, false) => "v",
            (_, true) => "s",
        };
        write!(f, "{kind}{}", self.off)
    }
}

impl Op {
    /// What it does, for people who read a trace.
    pub fn title(self) -> String {
        let lower = |d: &dyn fmt::Debug| format!("{d:?}").to_lowercase();
        match self {
            Self::Load(m) => format!("load {}", lower(&m.space)),
            Self::Store(m) => format!("store {}", lower(&m.space)),
            Self::Rmw(o, m) => format!("atomic {} {}", lower(&o), lower(&m.space)),
            Self::CmpXchg(m) => format!("atomic compare {}", lower(&m.space)),
            Self::I32(o) => format!("int {}", lower(&o)),
            Self::I64(o) => format!("long {}", lower(&o)),
            Self::FBin(o) => format!("float {}", lower(&o)),
            Self::FUn(o) => format!("float {}", lower(&o)),
            Self::Fma { .. } | Self::FmaF16 => "float multiply-add".to_owned(),
            Self::ICmp32(o) | Self::ICmp64(o) => format!("int compare {}", lower(&o)),
            Self::FCmp(o) => format!("float compare {}", lower(&o)),
            Self::Sel => "select".to_owned(),
            Self::Shuffle(k) => format!("shuffle {}", lower(&k)),
            Self::Reduce(o, _) => format!("simd {}", lower(&o)),
            other => {
                let text = lower(&other);
                text.split(['(', '{', ' ']).next().unwrap_or_default().to_owned()
            }
        }
    }
}

impl fmt::Display for Lowered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (off, v, class) in &self.init {
            writeln!(f, "  {class:?} {off} = {v:#x}")?;
        }
        for (id, i) in self.insts.iter().enumerate() {
            if let LOp::Enter(b) = i.op {
                writeln!(f, "b{b}:")?;
                continue;
            }
            write!(f, "  {id:4} ")?;
            for (k, d) in i.dst.iter().enumerate() {
                write!(f, "{}{d}", if k > 0 { ", " } else { "" })?;
            }
            match i.op {
                LOp::Op(op) => write!(f, " = {op:?}")?,
                op => write!(f, " {op:?}")?,
            }
            for a in &i.args {
                write!(f, " {a}")?;
            }
            match self.position(i.pos) {
                Some(p) => writeln!(f, "  ; {p}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (b, blk) in self.blocks.iter().enumerate() {
            writeln!(f, "b{b}:")?;
            for (v, list) in &blk.phis {
                writeln!(f, "  %{v} = phi {list:?}")?;
            }
            for &v in &blk.nodes {
                let n = self.node(v);
                write!(f, "  %{v} = {:?}", n.op)?;
                for &a in &n.args {
                    match self.const_of(a) {
                        Some(c) => write!(f, " {c:#x}")?,
                        None => write!(f, " %{a}")?,
                    }
                }
                writeln!(f)?;
            }
            writeln!(f, "  {:?}", blk.term)?;
        }
        Ok(())
    }
}
