// SPDX-License-Identifier: MIT OR Apache-2.0

//! What two nodes are to each other, as data. Routers, peers and clients share all the code of this folder;
//! they differ by the two tables below and by nothing else.

use zonda_codec::WhatAmI;

use crate::table::face_id::{FaceInfo, FaceKind};

/// What the node behind a face is to this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The node's own session.
    Local,
    /// This node is its gateway: it declares what it has, asks with interests, and gets what it asked for.
    Served,
    /// It is this node's gateway: the mirror image of [`Relation::Served`].
    Upstream,
    /// Two peers: each tells the other everything its own side has, unasked.
    PeerToPeer,
    /// Two routers: what passes between them belongs to the router where it entered the mesh, not to the link.
    RouterToRouter,
    /// A router of the mesh, as the source of what it has and sends.
    Routed,
    /// All other routers: each hears what this node's own side has.
    Mesh,
    /// Two clients: they have nothing to say to each other.
    Unrelated,
    /// A group of peers, and this router: it passes on between them and everybody else.
    GroupBelow,
    /// A group of peers, of which this node is one: its own side hears them, and they its own side.
    GroupBeside,
}

use Relation::{
    GroupBelow, GroupBeside, Local, Mesh, PeerToPeer, Routed, RouterToRouter, Served, Unrelated,
    Upstream,
};

/// The interest of a link between peers, which nobody sends: its end is the end of what the other one has to tell when the
/// link comes up.
pub const INITIAL: u32 = 0;

/// `[own role][remote role]`, both in the order router, peer, client.
const RELATIONS: [[Relation; 3]; 3] = [
    [RouterToRouter, Served, Served],
    [Upstream, PeerToPeer, Served],
    [Upstream, Upstream, Unrelated],
];

/// What a relation allows and demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conduct {
    /// It belongs to this node's own side: whatever reaches this node may be passed on to it, and what it
    /// has may be passed on to everybody. Between two faces that are not, nothing passes but along the trees of a mesh.
    pub south: bool,
    /// Data and declarations cross this face at all.
    pub open: bool,
    /// Every entity of this node's own side is declared to it without asking.
    pub announces_unasked: bool,
    /// Its interests are answered.
    pub answer_interests: bool,
    /// Its interests are kept, and changes are sent as they happen.
    pub keep_interests: bool,
    /// This node sends it interests, and believes only what these cover.
    pub ask: bool,
    /// The exchange begins with everything and a D_FINAL for interest 0, both ways.
    pub initial_exchange: bool,
}

const CLOSED: Conduct = Conduct {
    south: false,
    open: false,
    announces_unasked: false,
    answer_interests: false,
    keep_interests: false,
    ask: false,
    initial_exchange: false,
};

impl Relation {
    /// The relation of a node of role `own` to the node behind a face.
    pub fn between(own: WhatAmI, face: &FaceInfo) -> Relation {
        match face.kind {
            FaceKind::Local => Local,
            FaceKind::Remote => RELATIONS[row(own)][row(face.whatami)],
            FaceKind::Group if own == WhatAmI::Router => GroupBelow,
            FaceKind::Group => GroupBeside,
            FaceKind::Beyond => Routed,
            FaceKind::Mesh => Mesh,
        }
    }

    /// What the relation allows and demands.
    pub const fn conduct(self) -> Conduct {
        match self {
            Local => Conduct {
                south: true,
                open: true,
                ..CLOSED
            },
            Served => Conduct {
                south: true,
                open: true,
                answer_interests: true,
                keep_interests: true,
                ..CLOSED
            },
            Upstream => Conduct {
                open: true,
                announces_unasked: true,
                ask: true,
                ..CLOSED
            },
            PeerToPeer => Conduct {
                open: true,
                announces_unasked: true,
                answer_interests: true,
                initial_exchange: true,
                ..CLOSED
            },
            GroupBelow => Conduct {
                south: true,
                open: true,
                ..CLOSED
            },
            GroupBeside | Routed => Conduct {
                open: true,
                ..CLOSED
            },
            Mesh => Conduct {
                announces_unasked: true,
                ..CLOSED
            },
            RouterToRouter | Unrelated => CLOSED,
        }
    }

    /// Whether what comes from a face of this relation may go to one of relation `to`.
    pub const fn flows_to(self, to: Relation) -> bool {
        let (from, to) = (self.conduct(), to.conduct());
        from.open && to.open && (from.south || to.south)
    }
}

const fn row(role: WhatAmI) -> usize {
    match role {
        WhatAmI::Router => 0,
        WhatAmI::Peer => 1,
        WhatAmI::Client => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Relation; 10] = [
        Local,
        Served,
        Upstream,
        PeerToPeer,
        RouterToRouter,
        Routed,
        Mesh,
        Unrelated,
        GroupBelow,
        GroupBeside,
    ];

    #[test]
    fn nothing_passes_between_two_faces_of_the_other_side() {
        for from in ALL {
            for to in ALL {
                let open = from.conduct().open && to.conduct().open;
                let is_south = |one| matches!(one, Local | Served | GroupBelow);
                let south = is_south(from) || is_south(to);
                assert_eq!(from.flows_to(to), open && south, "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn gateways_answer_those_who_ask() {
        for own in [WhatAmI::Router, WhatAmI::Peer, WhatAmI::Client] {
            for remote in [WhatAmI::Router, WhatAmI::Peer, WhatAmI::Client] {
                let here = RELATIONS[row(own)][row(remote)];
                let there = RELATIONS[row(remote)][row(own)];
                assert_eq!(here == Upstream, there == Served, "{own} and {remote}");
                assert!(!here.conduct().ask || there.conduct().keep_interests);
            }
        }
    }
}
