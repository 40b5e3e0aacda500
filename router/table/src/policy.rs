// SPDX-License-Identifier: MIT OR Apache-2.0

//! Relations between nodes, as data. Routers, peers and clients share all the code of this folder;
//! they differ by the two tables below only.

use zonda_codec::WhatAmI;

use crate::face_id::{FaceInfo, FaceKind};

/// Relation of the node behind a face to this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The node's own session.
    Local,
    /// This node is its gateway: it declares its entities, sends interests, and gets what they cover.
    Served,
    /// A gateway of this node: the mirror image of [`Relation::Served`].
    Upstream,
    /// Two peers: each declares every entity of its own side to the other one, unasked.
    PeerToPeer,
    /// Two routers: a message between them belongs to the router where it entered the mesh, not to
    /// the link.
    RouterToRouter,
    /// A router of the mesh, as the source of its entities and messages.
    Routed,
    /// All other routers: the entities of this node's own side are declared to them.
    Mesh,
    /// Two clients: they exchange nothing.
    Unrelated,
    /// A group of peers, and this router: it forwards between them and all other nodes.
    GroupBelow,
    /// A group of peers with this node among them: its own side receives from them, and they from
    /// its own side.
    GroupBeside,
}

use Relation::{
    GroupBelow, GroupBeside, Local, Mesh, PeerToPeer, Routed, RouterToRouter, Served, Unrelated,
    Upstream,
};

/// Interest of a link between peers, which neither sends: its D_FINAL ends the declarations that a
/// peer makes when the link comes up.
pub const INITIAL: u32 = 0;

/// `[own role][remote role]`, both in the order router, peer, client.
const RELATIONS: [[Relation; 3]; 3] = [
    [RouterToRouter, Served, Served],
    [Upstream, PeerToPeer, Served],
    [Upstream, Upstream, Unrelated],
];

/// Rights and duties of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conduct {
    /// True if the face belongs to this node's own side: any message that reaches this node may be
    /// forwarded to it, and its messages and entities may be passed on to any face. Between two
    /// faces that do not, messages pass along the trees of a mesh only.
    pub south: bool,
    /// True if data and declarations cross this face at all.
    pub open: bool,
    /// True if every entity of this node's own side is declared to it without an interest.
    pub announces_unasked: bool,
    /// True if its interests are answered.
    pub answer_interests: bool,
    /// True if its interests are kept, and changes are sent to it.
    pub keep_interests: bool,
    /// True if this node sends it interests, and accepts only entities that these cover.
    pub ask: bool,
    /// True if the exchange begins with all entities and a D_FINAL for interest 0, both ways.
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
    /// Returns the relation of a node of role `own` to the node behind a face.
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

    /// Returns the rights and duties of the relation.
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

    /// Returns true if messages from a face of this relation may go to one of relation `to`.
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
