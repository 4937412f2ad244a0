"""Templates of the eighth hold-out, written before any of its notes was generated; never tuned on, never looked into."""

TEXT = [
    "Rheumatology {date}. {name}, {dob}, {street}, {city}. Both knees swollen. Methotrexate raised to 15 mg. Copy to {doctor}.",
    "Phone note: {relative} says {first} has not slept since they moved from {city}. Advised to see {doctor_last} on {date}.",
    "Pacemaker check, device {device}, {last}, {mrn}. Battery good for six years. Next check by {nurse}.",
    "Home oxygen order\nPatient: {name}\nBorn: {dob}\nAddress: {address}\nTelephone: {phone}\nOrdered by: {doctor}",
    "{first} and {relative_first} live in {city} with two dogs. Asthma worse in autumn. Inhaler technique corrected by {nurse}.",
    "The walker was stolen at the station of {city}. A new one goes to {address}. Insurance {plan}, account {account}.",
    "Room {room}, night: {last} confused, pulled out the line. {doctor_last} informed. {relative} sat at the bedside.",
    "Medical certificate. I examined {name}, SSN {ssn}, of {street}, {zip} {city}, on {date}. Unfit for work for ten days. {doctor}",
    "Eye clinic: {first} {last} drove here from {city} in the car {plate} against advice. Pupils dilated. {relative} drove back.",
    "Aged {old_age}, {name} still gardens. Visited by {nurse} at {street}. Blood pressure 150/80, legs not swollen.",
    "Please email the report to {email} or fax it to {fax}. {relative}, mother of {first}, {city}.",
    "Access to the record of {last} from {ip} via {url} by {nurse} on {date}. Licence {licence}. Case {case}.",
    "Travel clinic: {first} leaves for {city} on {date}. Yellow fever and typhoid given. VIN {vin} of the camper noted for the rescue card.",
    "Speech therapy. {last} repeats three words. {relative} reads aloud daily. Call {spoken_phone}. Extra {hidden}.",
]

JSON = [
    {"patient": {"name": "{name}", "dob": "{dob}", "address": "{address}"}, "therapy": "Leg ulcer, compression twice a week"},
    {"escort": "{nurse}", "passenger": "{last}", "stops": ["{street}, {city}", "Regional Hospital"], "phone": "{phone}"},
    {"summary": "{first} of {city} was seen by {doctor}. {relative} will collect the tablets.", "room": "{room}", "mrn": "{mrn}"},
    {"contact": {"person": "{relative}", "street": "{street}", "zip": "{zip}", "city": "{city}", "email": "{email}"}},
]
