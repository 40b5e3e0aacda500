// SPDX-License-Identifier: MIT OR Apache-2.0

//! The volumes of this build, against the tests for every volume, and what is particular to each.

use zonda_testkit::Folder;
use zonda_volume::{Memory, Options, conformance};

/// Returns the options of a storage in a folder.
fn in_folder(folder: &Folder) -> Options {
    Options::default().with("dir", folder.path().to_str().unwrap())
}

#[test]
fn memory_passes() {
    conformance::passes(&Memory, Options::default);
}

mod redb {
    use std::cell::RefCell;
    use std::fs::{OpenOptions, read, write};
    use std::io::{Seek, SeekFrom, Write};

    use zonda_codec::{Ntp64, Timestamp, ZenohId};
    use zonda_volume::{Entry, OpenError, Options, Redb, StoreError, Table, Value, Volume};

    use super::{Folder, conformance, in_folder};

    fn entry(time: u64) -> Entry {
        let id = ZenohId::from_le_bytes(&[7]).unwrap();
        Entry::new(Timestamp::new(Ntp64(time), id), Some(Default::default()))
    }

    fn filled(folder: &Folder, names: usize) {
        let mut store = Redb.open(&in_folder(folder)).unwrap();
        for number in 0..names {
            store
                .put(Table::Live, &format!("name/{number}"), entry(1))
                .unwrap();
        }
        store.close().unwrap();
    }

    #[test]
    fn redb_passes() {
        let folders = RefCell::new(Vec::new());
        conformance::passes(&Redb, || {
            let mut folders = folders.borrow_mut();
            folders.push(Folder::new("volume"));
            in_folder(folders.last().unwrap())
        });
    }

    #[test]
    fn a_read_only_storage_changes_no_byte() {
        let folder = Folder::new("volume");
        filled(&folder, 100);
        let file = folder.path().join("storage.redb");
        let before = read(&file).unwrap();
        let options = in_folder(&folder).with("read_only", true);
        let mut store = Redb.open(&options).unwrap();
        assert_eq!(store.len(Table::Live), Ok(100));
        assert_eq!(store.get(Table::Live, "name/7"), Ok(Some(entry(1))));
        assert_eq!(
            store.put(Table::Live, "name/7", entry(2)),
            Err(StoreError::ReadOnly)
        );
        assert_eq!(
            store.remove(Table::Live, "name/7"),
            Err(StoreError::ReadOnly)
        );
        store.close().unwrap();
        assert!(read(&file).unwrap() == before);
        // One that was not closed well is repaired in memory alone.
        let mut torn = before.clone();
        torn[9] |= 2;
        write(&file, &torn).unwrap();
        let mut store = Redb.open(&options).unwrap();
        assert_eq!(store.len(Table::Live), Ok(100));
        store.close().unwrap();
        assert!(read(&file).unwrap() == torn);
    }

    #[test]
    fn damage_is_told_with_the_name_of_the_file() {
        let folder = Folder::new("volume");
        filled(&folder, 2000);
        let file = folder.path().join("storage.redb");
        let good = read(&file).unwrap();
        let is_told = |bytes: &[u8]| {
            write(&file, bytes).unwrap();
            let opened = Redb.open(&in_folder(&folder));
            match opened.map(|_| ()) {
                Err(error @ OpenError::Damaged { .. }) => {
                    let text = error.to_string();
                    assert!(
                        text.contains("storage.redb") && !text.contains('\n'),
                        "{text}"
                    );
                    true
                }
                Err(error) => panic!("{error:?}"),
                Ok(()) => false,
            }
        };
        assert!(is_told(b"a file of another program, which is no database"));
        assert!(is_told(b"short"));
        assert!(is_told(&good[..5000]));
        let mut overwritten = good.clone();
        overwritten[16..512].fill(0xff);
        assert!(is_told(&overwritten));
        // Damage behind the head is found when it is opened, or when its entries are read.
        for at in (4096..good.len()).step_by(4096 * 7) {
            let mut damaged = good.clone();
            damaged[at..(at + 512).min(good.len())].fill(0x5a);
            if !is_told(&damaged) {
                let mut store = Redb.open(&in_folder(&folder)).unwrap();
                let _ = store.get(Table::Live, "name/7");
            }
        }
    }

    #[test]
    fn changes_wait_for_a_commit() {
        let folder = Folder::new("volume");
        let mut store = Redb.open(&in_folder(&folder)).unwrap();
        store.put(Table::Live, "a", entry(1)).unwrap();
        assert!(store.uncommitted_bytes() > 0);
        store.commit().unwrap();
        assert_eq!(store.uncommitted_bytes(), 0);
        store.remove(Table::Live, "").unwrap();
        assert!(
            store.uncommitted_bytes() > 0,
            "a removal of the empty name is a change"
        );
    }

    #[test]
    fn one_that_is_only_read_is_locked_as_well() {
        let folder = Folder::new("volume");
        filled(&folder, 1);
        let read_only = in_folder(&folder).with("read_only", true);
        for (first, second) in [
            (in_folder(&folder), read_only.clone()),
            (read_only, in_folder(&folder)),
        ] {
            let store = Redb.open(&first).unwrap();
            let refused = Redb.open(&second).map(|_| ());
            assert!(
                matches!(refused, Err(OpenError::InUse { .. })),
                "{refused:?}"
            );
            store.close().unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn several_read_one_database_that_was_not_closed_well() {
        let folder = Folder::new("volume");
        filled(&folder, 100);
        let file = folder.path().join("storage.redb");
        let mut torn = read(&file).unwrap();
        torn[9] |= 2;
        write(&file, &torn).unwrap();
        let read_only = in_folder(&folder).with("read_only", true);
        let mut readers = [(); 3].map(|()| Redb.open(&read_only).unwrap());
        for reader in &mut readers {
            assert_eq!(reader.len(Table::Live), Ok(100));
            let error = reader.remove(Table::Live, "name/1").unwrap_err();
            assert_eq!(error, StoreError::ReadOnly);
        }
        let refused = Redb.open(&in_folder(&folder)).map(|_| ());
        assert!(
            matches!(refused, Err(OpenError::InUse { .. })),
            "{refused:?}"
        );
        drop(readers);
        let mut writer = Redb.open(&in_folder(&folder)).unwrap();
        assert_eq!(writer.len(Table::Live), Ok(100));
    }

    #[test]
    fn a_check_finds_damage_that_no_read_meets() {
        let folder = Folder::new("volume");
        filled(&folder, 2000);
        let file = folder.path().join("storage.redb");
        let good = read(&file).unwrap();
        let read_only = in_folder(&folder).with("read_only", true);
        let check = |bytes: &[u8]| -> Result<(), String> {
            write(&file, bytes).unwrap();
            let mut store = Redb.open(&read_only).map_err(|error| error.to_string())?;
            let found = store.verify().map_err(|error| error.to_string());
            assert!(read(&file).unwrap() == bytes, "it only reads");
            found
        };
        assert_eq!(check(&good), Ok(()));
        // One that was not closed well is whole.
        let mut torn = good.clone();
        torn[9] |= 2;
        assert_eq!(check(&torn), Ok(()));
        // A byte in the middle of each name that is stored.
        let mut damaged = good.clone();
        let at = (0..good.len()).find(|at| good[*at..].starts_with(b"name/77"));
        damaged[at.unwrap() + 5] = b'x';
        let found = check(&damaged).unwrap_err();
        assert!(
            found.contains("storage.redb is damaged") && !found.contains('\n'),
            "{found}"
        );
    }

    #[test]
    fn a_compacted_database_is_smaller_and_has_what_it_had() {
        let folder = Folder::new("volume");
        let large = Entry {
            value: Some(Value {
                payload: vec![7; 10_000].into(),
                encoding: "".into(),
            }),
            ..entry(1)
        };
        let mut store = Redb.open(&in_folder(&folder)).unwrap();
        for number in 0..2000 {
            let name = format!("name/{number}");
            store.put(Table::Live, &name, large.clone()).unwrap();
        }
        store.commit().unwrap();
        for number in (0..2000).filter(|number| number % 100 > 0) {
            let name = format!("name/{number}");
            store.remove(Table::Live, &name).unwrap();
        }
        let sizes = store.compact().unwrap().unwrap();
        assert!(sizes.after < sizes.before / 2, "{sizes:?}");
        let file = folder.path().join("storage.redb");
        assert_eq!(file.metadata().unwrap().len(), sizes.after);
        store.close().unwrap();
        assert_eq!(file.metadata().unwrap().len(), sizes.after);
        let mut store = Redb.open(&in_folder(&folder)).unwrap();
        assert_eq!(store.len(Table::Live), Ok(20));
        assert_eq!(store.get(Table::Live, "name/700"), Ok(Some(large)));
        store.put(Table::Live, "more", entry(2)).unwrap();
        store.close().unwrap();
        let read_only = in_folder(&folder).with("read_only", true);
        let mut store = Redb.open(&read_only).unwrap();
        assert_eq!(store.compact(), Err(StoreError::ReadOnly));
        assert_eq!(store.verify(), Ok(()));
        assert_eq!(store.len(Table::Live), Ok(21));
    }

    #[test]
    fn a_half_made_database_is_made_anew() {
        let folder = Folder::new("volume");
        let half = folder.path().join("storage.redb.new");
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .open(half)
            .unwrap();
        file.seek(SeekFrom::Start(9000)).unwrap();
        file.write_all(b"rest").unwrap();
        filled(&folder, 1);
        let mut store = Redb.open(&in_folder(&folder)).unwrap();
        assert_eq!(store.len(Table::Live), Ok(1));
    }

    #[test]
    fn what_is_destroyed_at_its_end_is_gone() {
        let folder = Folder::new("volume");
        let options = in_folder(&folder).with("on_closure", "destroy_db");
        let mut store = Redb.open(&options).unwrap();
        store.put(Table::Live, "a", entry(1)).unwrap();
        store.commit().unwrap();
        store.close().unwrap();
        assert!(!folder.path().join("storage.redb").exists());
        assert!(!Redb.has_data_in(folder.path()));
    }

    #[test]
    fn wrong_options_are_one_line() {
        for (options, words) in [
            (Options::default(), "dir` is not set"),
            (Options::default().with("dir", 7), "dir` is 7"),
            (
                Options::default().with("dir", "x").with("read_only", "yes"),
                "read_only` is \"yes\"",
            ),
            (
                Options::default()
                    .with("dir", "x")
                    .with("durability", "always"),
                "\"batch\"",
            ),
            (
                Options::default().with("dir", "x").with("on_closure", 1),
                "on_closure` is 1",
            ),
        ] {
            let error = Redb.check(&options).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
        let folder = Folder::new("volume");
        let absent = in_folder(&folder).with("create_db", false);
        assert!(matches!(
            Redb.open(&absent).map(|_| ()),
            Err(OpenError::System { .. })
        ));
    }
}

mod fs {
    use std::cell::RefCell;
    use std::fs::{create_dir_all, read, read_to_string, write};
    use std::ops::ControlFlow;

    use zonda_codec::{Ntp64, Timestamp, ZenohId};
    use zonda_volume::{Entry, Fs, Store, StoreError, Table, Value, Volume};

    use super::{Folder, conformance, in_folder};

    fn entry(time: u64, payload: &str) -> Entry {
        let id = ZenohId::from_le_bytes(&[7]).unwrap();
        let value = Value {
            payload: payload.to_owned().into(),
            encoding: "text/plain".into(),
        };
        Entry::new(Timestamp::new(Ntp64(time), id), Some(value))
    }

    fn all(store: &mut dyn Store) -> Vec<String> {
        let mut all = Vec::new();
        store
            .scan(Table::Live, "", &mut |name, entry| {
                let value = entry.value.unwrap();
                let payload = String::from_utf8_lossy(&value.payload).into_owned();
                all.push(format!("{name}={payload} {}", value.encoding));
                ControlFlow::Continue(())
            })
            .unwrap();
        all
    }

    #[test]
    fn fs_passes() {
        let folders = RefCell::new(Vec::new());
        conformance::passes(&Fs, || {
            let mut folders = folders.borrow_mut();
            folders.push(Folder::new("volume"));
            in_folder(folders.last().unwrap())
        });
    }

    #[test]
    fn a_key_is_a_file() {
        let folder = Folder::new("volume");
        let mut store = Fs.open(&in_folder(&folder)).unwrap();
        for name in ["a", "a/b", "a/b/c", "../up", ".zonda/x"] {
            store.put(Table::Live, name, entry(1, name)).unwrap();
            store.commit().unwrap();
        }
        let content = |path: &str| read_to_string(folder.path().join(path)).unwrap_or_default();
        assert_eq!(content("a/%self"), "a");
        assert_eq!(content("a/b/%self"), "a/b");
        assert_eq!(content("a/b/c"), "a/b/c");
        assert_eq!(content("%2e./up"), "../up");
        assert_eq!(all(&mut *store).len(), 5);
        store.remove(Table::Live, "a/b/c").unwrap();
        store.commit().unwrap();
        assert_eq!(store.get(Table::Live, "a/b"), Ok(Some(entry(1, "a/b"))));
        assert!(!folder.path().join("a/b/c").exists());
    }

    #[test]
    fn files_put_there_by_hand_are_served() {
        let folder = Folder::new("volume");
        create_dir_all(folder.path().join("by/hand")).unwrap();
        write(folder.path().join("by/hand/x.json"), "{}").unwrap();
        write(folder.path().join(".hidden"), "no").unwrap();
        let read_only = in_folder(&folder).with("read_only", true);
        let mut store = Fs.open(&read_only).unwrap();
        assert_eq!(all(&mut *store), ["by/hand/x.json={} application/json"]);
        drop(store);
        let mut store = Fs.open(&in_folder(&folder)).unwrap();
        store.put(Table::Live, "own", entry(1, "1")).unwrap();
        store.commit().unwrap();
        // One that was changed has the new content, and a later time.
        write(folder.path().join("own"), "changed").unwrap();
        let found = store.get(Table::Live, "own").unwrap().unwrap();
        assert!(found.own > entry(1, "").own && found.value.unwrap().payload == "changed");
        std::fs::remove_file(folder.path().join("by/hand/x.json")).unwrap();
        assert_eq!(all(&mut *store), ["own=changed "]);
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_nowhere() {
        let (folder, outside) = (Folder::new("volume"), Folder::new("volume"));
        write(outside.path().join("secret"), "hunter2").unwrap();
        let mut store = Fs.open(&in_folder(&folder)).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("file"))
            .unwrap();
        assert_eq!(all(&mut *store), [""; 0]);
        for name in ["out/secret", "file"] {
            assert_eq!(store.get(Table::Live, name), Ok(None), "{name}");
        }
        let refused = store.put(Table::Live, "out/secret", entry(1, "mine"));
        assert!(matches!(refused, Err(StoreError::Name { .. })));
        assert_eq!(read(outside.path().join("secret")).unwrap(), b"hunter2");
    }

    #[test]
    fn delete_all_leaves_an_empty_folder() {
        let folder = Folder::new("volume");
        let options = in_folder(&folder).with("on_closure", "delete_all");
        let mut store = Fs.open(&options).unwrap();
        store.put(Table::Live, "a/b", entry(1, "1")).unwrap();
        store.commit().unwrap();
        store.close().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
