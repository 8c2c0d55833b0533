//! To be filled: see ARCHITECTURE.md.
