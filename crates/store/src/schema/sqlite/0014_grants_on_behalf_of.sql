ALTER TABLE grants ADD COLUMN on_behalf_of TEXT;
