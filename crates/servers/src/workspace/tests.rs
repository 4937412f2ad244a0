mod bash;
mod files;
mod undo;
