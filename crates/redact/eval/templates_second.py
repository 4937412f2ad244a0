"""Templates of the second hold-out: drawn once, after the engine was last changed; never looked at to tune it."""

TEXT = [
    "ED TRIAGE {date}\nPatient {name}, brought by {relative_first}. Lives in {city}. Chest pressure for two hours, radiating to the jaw. Aspirin 324 mg given. Troponin pending. MRN {mrn}.",
    "Operative report. Surgeon: {doctor}. Patient: {name}. Date of surgery: {date}. Right total knee arthroplasty under spinal anesthesia. Implant {device}. Blood loss 150 mL. No complications.",
    "To whom it may concern: {name}, born {dob}, residing at {address}, has been under my care for rheumatoid arthritis. Current therapy is methotrexate 15 mg weekly. Sincerely, Dr. {doctor_last}, phone {phone}.",
    "Radiology: {last}, {first}. Chest radiograph {date}. Lungs are clear. Heart size normal. No pleural effusion. Read by {doctor}.",
    "Care plan meeting: {relative} (daughter) and {nurse} present. {first} has lost 3 kg since {date}. Dietary supplements ordered. Room {room}. Family travels from {city}.",
    "Claim {case}: member {name}, ID {plan}, lives at {street}, {city}. Billed for office visit and urinalysis. Questions to {email}.",
    "OB note: G2P1 at 34 weeks. {name} reports good fetal movement. Husband {relative} attends. Blood pressure 118/70. Glucose tolerance normal. Next visit {date}. Fax records to {fax}.",
    "Home health: visited {first} at {street}, {zip} {city}. Wound healing well, no drainage. Neighbor {relative_first} checks daily. Call {phone} before arrival.",
    "Pharmacy call: {doctor_last} authorised refill of warfarin 5 mg for {name} (DOB {dob}). INR 2.4. Deliver to {address}.",
    "The patient, {name}, a {old_age}-year-old from {city}, was found confused by son {relative}. Urine positive for nitrites. Started on nitrofurantoin. SSN {ssn}.",
]

JSON = [
    {"subject": {"name": "{name}", "dob": "{dob}"}, "address": "{address}", "narrative": "Dr. {doctor_last} saw {first} on {date} for back pain.", "phone": "{phone}"},
    {"nurse": "{nurse}", "patient": "{name}", "city": "{city}", "notes": ["{relative} visited today.", "Blood pressure stable."], "mrn": "{mrn}"},
]
