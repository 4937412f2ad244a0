mod bash;
mod files;
mod language;
mod turns;
mod undo;
