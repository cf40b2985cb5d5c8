//! Temporary.
use super::*;
impl Store {
    pub fn keep_context(&self, _key: ContextKey, _context: &ContextRecord) -> Result<(), StoreError> { todo!() }
    pub fn amend(&self, _path: &VaultPath, _change: impl FnOnce(&mut NoteRecord)) -> Result<bool, StoreError> { todo!() }
    pub fn value(&self, _name: &str) -> Result<Option<String>, StoreError> { todo!() }
    pub fn set_value(&self, _name: &str, _value: Option<&str>) -> Result<(), StoreError> { todo!() }
    pub fn archived_of(&self, _key: ContextKey, _generation: &str) -> Result<Option<ContextRecord>, StoreError> { todo!() }
}
