mod bash;
mod files;
mod language;
mod undo;
